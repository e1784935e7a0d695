"""Soft clusters: the right ones where it is plain which are right, and always the same."""

from __future__ import annotations

import numpy as np
import pytest

from langchain_rag.document_transformers.trees.clustering import SoftClustering
from langchain_rag.errors import ConfigurationError
from tests.cases.topics import model, page, raptor, reference
from tests.tiers import everyday

PLAIN = SoftClustering(reduction=None)


def blobs(*sizes: int, dimensions: int = 32, spread: float = 0.02, seed: int = 0):
    """Points about as many axes as there are sizes, mixed, and which belong together."""
    random = np.random.default_rng(seed)
    labels = random.permutation([n for n, size in enumerate(sizes) for _ in range(size)])
    points = np.eye(dimensions)[labels] + random.normal(
        scale=spread, size=(len(labels), dimensions)
    )
    expected = sorted(np.flatnonzero(labels == n).tolist() for n in range(len(sizes)))
    return points, expected


@pytest.mark.parametrize("clustering", [PLAIN, SoftClustering(reduction="pca")], ids=str)
@pytest.mark.parametrize(
    "sizes",
    everyday([(3, 4, 4)], of=[(5, 4), (3, 4, 4), (12, 9, 14), (8, 8, 8, 8, 8)]),
    ids=str,
)
def test_groups_that_stand_apart_are_found(clustering, sizes) -> None:
    for seed in range(3):
        points, expected = blobs(*sizes, seed=seed)
        assert clustering.clusters(points.tolist()) == expected


def test_what_stands_between_is_in_both() -> None:
    points, expected = blobs(20, 20, dimensions=2, spread=0.2)
    between = [0.5, 0.5]
    found = SoftClustering(reduction=None, threshold=0.05).clusters([*points, between])
    assert found == [[*part, 40] for part in expected]
    # With a threshold that nothing passes each is in one, and none is left out.
    hard = SoftClustering(reduction=None, threshold=0.9999).clusters([*points, between])
    assert sorted(n for part in hard for n in part) == list(range(41))


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("point", ["equal", "apart"])
def test_where_nothing_belongs_together_there_is_one_cluster(count, point) -> None:
    points = np.ones((count, 8)) if point == "equal" else np.eye(8)[:count]
    assert PLAIN.clusters(points.tolist()) == [list(range(count))]


def test_far_points_make_no_clusters_of_their_own() -> None:
    points, _ = blobs(10, 10, dimensions=4)
    found = PLAIN.clusters([*points.tolist(), [3.0, 3.0, 3.0, 3.0]])
    assert len(found) <= 3
    assert sorted({n for part in found for n in part}) == list(range(21))


def test_the_order_of_the_points_does_not_matter() -> None:
    clustering = SoftClustering(reduction="pca")
    points, _ = blobs(7, 9, 11, 6, spread=0.2)
    order = np.random.default_rng(1).permutation(len(points))
    found = clustering.clusters(points.tolist())
    moved = clustering.clusters(points[order].tolist())
    assert sorted(sorted(order[n] for n in part) for part in moved) == found


def test_a_point_that_moves_leaves_the_others_alone() -> None:
    clustering = SoftClustering(reduction="pca")
    points, expected = blobs(8, 8, 8, 8, 8)
    points[3] = np.eye(32)[7]
    found = clustering.clusters(points.tolist())
    kept = [part for part in expected if 3 not in part]
    assert [part for part in found if part in kept] == kept


@pytest.mark.full
def test_clusters_are_found_within_clusters() -> None:
    # Two far groups, each of two near ones, which a mixture of all points need not tell apart.
    random = np.random.default_rng(0)
    labels = np.repeat(range(4), 30)
    centres = np.zeros((4, 16))
    centres[2:, 0] = 50.0
    centres[1::2, 1] = 1.0
    points = centres[labels] + random.normal(scale=0.05, size=(120, 16))
    clustering = SoftClustering(reduction="pca", dimensions=2)
    assert clustering.clusters(points.tolist()) == [
        list(range(n, n + 30)) for n in (0, 30, 60, 90)
    ]


def test_never_more_clusters_than_asked_for() -> None:
    points, _ = blobs(6, 6, 6, 6, 6)
    assert len(SoftClustering(reduction=None, max_clusters=2).clusters(points.tolist())) <= 4
    one = SoftClustering(reduction=None, max_clusters=1).clusters(points.tolist())
    assert one == [list(range(30))]


def test_what_cannot_work_is_refused() -> None:
    for options in (
        {"reduction": "tsne"},
        {"dimensions": 0},
        {"max_clusters": 0},
        {"threshold": 1.0},
        {"threshold": -0.1},
    ):
        with pytest.raises(ConfigurationError):
            SoftClustering(**options)


def test_fingerprints() -> None:
    kinds = [
        SoftClustering(),
        SoftClustering(reduction="pca"),
        PLAIN,
        SoftClustering(dimensions=5),
        SoftClustering(threshold=0.2),
        SoftClustering(max_clusters=5),
        SoftClustering(seed=1),
    ]
    assert len({one.fingerprint for one in kinds}) == len(kinds)
    assert SoftClustering().fingerprint == SoftClustering().fingerprint


def test_a_tree_of_real_clusters() -> None:
    texts = [f"{colour} number {n}" for n in range(5) for colour in ("red", "green", "blue")]
    clustering = SoftClustering(reduction="pca", threshold=0.3)
    made = raptor(model(), clustering=clustering).transform_documents([page("a", *texts)])
    found = {one.page_content: one.metadata["level"] for one in made}
    assert found == {text: level for text, (level, _) in reference(texts).items()}


@pytest.mark.full
def test_umap(monkeypatch) -> None:
    # Compiling UMAP takes half a minute and more; few points are as quickly laid out without.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    points, expected = blobs(9, 8, dimensions=8)
    clustering = SoftClustering(dimensions=3)
    assert clustering.clusters(points.tolist()) == expected
    assert clustering.clusters(points.tolist()) == expected
