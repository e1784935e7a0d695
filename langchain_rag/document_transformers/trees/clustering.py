"""Soft clusters of vectors, as RAPTOR makes them: first of all points, then within each.

Sarthi et al., "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval" (2024),
section 3: reduce by UMAP (McInnes et al. 2018) with wide neighbourhoods, cluster by a Gaussian
mixture whose size BIC chooses, and do the same again within each cluster with narrow ones. A
point belongs to every part of the mixture that it is likely enough to be of.

Everything is deterministic: the mixture starts from Ward's tree (1963), not from a random
choice, so that a few points that move do not move the others' clusters.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import numpy as np

from langchain_rag._identity import class_of, declared_name, digest, identity
from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Points: TypeAlias = NDArray[np.float64]

__all__ = ["Clustering", "Reduction", "SoftClustering", "mixture", "needed"]

_SPREAD: Final = 0.03
"""What is added to the variance of each part, as a share of that of all points, and at least
twice their share of one point. Without it a part of one point fits it endlessly well, and BIC
would choose nothing but such parts."""

_WARD: Final = 2000
"""Points up to which Ward's tree is built; its memory grows with their square."""


def needed(module: str) -> Any:
    """Import a module of the extra `raptor`.

    Args:
        module: Its dotted name.

    Returns:
        The module.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        msg = (
            f"Clusters need {module.partition('.')[0]}, which is not installed: pip install"
            " 'langchain-rag[raptor]'."
        )
        raise ConfigurationError(msg) from error


def mixture(
    points: NDArray[np.float64], *, most: int, threshold: float, seed: int
) -> list[list[int]]:
    """Cluster points softly.

    Fits mixtures of round Gaussians with 1, 2, ... parts, and keeps the one with the least
    Bayesian information criterion (Schwarz 1978).

    Args:
        points: One row for each point.
        most: Largest number of clusters. There are never more than half as many as points.
        threshold: A point belongs to the parts whose probability is above it, and always to
            its likeliest.
        seed: For more than 2,000 points, whose mixture starts from k-means.

    Returns:
        Clusters as positions of points in rising order, by their first point. Each point is
        in one at least.
    """
    most = min(most, len(points) // 2)
    centred = points - points.mean(axis=0)
    scale = float(np.sqrt((centred**2).mean()))
    if most < 2 or not scale > 1e-9:
        return [list(range(len(points)))]
    centred /= scale
    spread = max(_SPREAD, 2 / len(points))
    starts = _Starts(centred, spread)
    models = needed("sklearn.mixture")
    best: Any = None
    least = np.inf
    for number in range(1, most + 1):
        model = models.GaussianMixture(
            number,
            covariance_type="spherical",
            reg_covar=spread,
            random_state=seed,
            max_iter=500,
            tol=1e-4,
            **starts.of(number),
        ).fit(centred)
        criterion = float(model.bic(centred))
        if criterion < least - 1e-6:
            best, least = model, criterion
    chances: NDArray[np.float64] = best.predict_proba(centred)
    chosen = (chances > threshold) | (chances == chances.max(axis=1, keepdims=True))
    found = [np.flatnonzero(part).tolist() for part in chosen.T]
    return sorted(part for part in found if part)


class _Starts:
    """Where mixtures begin.

    Args:
        points: The points.
        spread: What is added to variances.
    """

    def __init__(self, points: NDArray[np.float64], spread: float) -> None:
        self._points = points
        self._spread = spread
        self._tree: Any = None
        if len(points) <= _WARD:
            self._hierarchy = needed("scipy.cluster.hierarchy")
            self._tree = self._hierarchy.linkage(points, "ward")

    def of(self, number: int) -> dict[str, Any]:
        """Return the arguments that tell a mixture where to begin.

        Args:
            number: Of its parts.
        """
        if self._tree is None:
            return {"init_params": "kmeans"}
        labels: Sequence[int] = self._hierarchy.fcluster(self._tree, number, "maxclust")
        parts = [self._points[np.asarray(labels) == label] for label in np.unique(labels)]
        # Equal distances may leave fewer; what is missing starts from the middle.
        while len(parts) < number:
            parts.append(self._points)
        spreads = [((part - part.mean(axis=0)) ** 2).mean() + self._spread for part in parts]
        sizes = np.array([len(part) for part in parts], dtype=float)
        return {
            "weights_init": sizes / sizes.sum(),
            "means_init": np.array([part.mean(axis=0) for part in parts]),
            "precisions_init": 1 / np.array(spreads),
        }


Reduction: TypeAlias = Literal["umap", "pca"] | None

_LOCAL_NEIGHBOURS: Final = 10

_LOCAL_FROM: Final = 50
"""Points that a cluster has to have to be looked into: with fewer, the neighbourhoods of the
first step were as narrow."""

# numba's default threads end the process when two calls meet in them.
_one_at_a_time = threading.Lock()


class Clustering(Protocol):
    """Says which vectors belong together. `SoftClustering` does; so may anything else."""

    @property
    def fingerprint(self) -> str | None:
        """What identifies the clusters that it makes, None where nothing dependable does."""
        ...

    def clusters(self, vectors: Sequence[Sequence[float]]) -> list[list[int]]:
        """Cluster vectors.

        Args:
            vectors: At least one.

        Returns:
            Clusters as positions of vectors in rising order, by their first vector. Each
            vector is in one at least, and no two clusters are equal.
        """
        ...


@declared_name("SoftClustering")
@dataclass(frozen=True, slots=True)
class SoftClustering:
    """Clusters vectors softly; the same vectors always get the same clusters.

    Needs scikit-learn, and for UMAP umap-learn: `pip install 'langchain-rag[raptor]'`. The
    first use of UMAP in a process takes some ten seconds, in which numba compiles it.

    UMAP lays all points out anew when one changes, so that also clusters which an edit did not
    touch may come out otherwise. Of 9 and 10 summaries above two times 40 paragraphs of an
    encyclopedia, a sentence written anew in one of them cost 2.2 and 4.1 on average, another
    paragraph in its place 3.2 and 4.9. `"pca"` is quicker, needs no umap-learn, and costs about
    as much: of 13 and 11 summaries 2.0 and 3.0 for a sentence, 5.8 and 4.5 for a paragraph. Its
    clusters matched the articles that the paragraphs are of less well.

    Few points need no reduction, and get none: up to `dimensions` + 1 of them lie in a space
    of `dimensions` without loss, whose axes are turned to it.

    Attributes:
        reduction: What brings the vectors to few dimensions; None clusters them as they are,
            which serves vectors that have few.
        dimensions: To how many.
        threshold: Least probability by which a point belongs to a cluster.
        max_clusters: Most clusters of one mixture.
        seed: For UMAP, whose layout starts from the principal components.

    Raises:
        ConfigurationError: A number is out of range, or a package is not installed.

    Example:
        >>> SoftClustering(reduction="pca").clusters([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
        [[0, 1, 2]]
    """

    reduction: Reduction = "umap"
    dimensions: int = 10
    threshold: float = 0.1
    max_clusters: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if self.reduction not in {"umap", "pca", None}:
            msg = f"reduction is {self.reduction!r}; give 'umap', 'pca' or None."
            raise ConfigurationError(msg)
        if self.dimensions < 1 or self.max_clusters < 1:
            msg = (
                f"dimensions is {self.dimensions} and max_clusters {self.max_clusters}: give 1"
                " or more."
            )
            raise ConfigurationError(msg)
        if not 0 <= self.threshold < 1:
            msg = f"threshold is {self.threshold}; give a probability from 0 up to 1."
            raise ConfigurationError(msg)
        for module in ("sklearn", *(("umap",) if self.reduction == "umap" else ())):
            # Found, not imported: that takes seconds, and short documents never need it.
            if find_spec(module) is None:
                needed(module)

    @property
    def fingerprint(self) -> str:
        """Identity of the parameters."""
        names = ("reduction", "dimensions", "threshold", "max_clusters", "seed")
        parameters = {name: identity(getattr(self, name)) for name in names}
        return digest({"class": class_of(self), "parameters": parameters})

    def clusters(self, vectors: Sequence[Sequence[float]]) -> list[list[int]]:
        """Cluster vectors.

        Args:
            vectors: At least one.

        Returns:
            Clusters as positions of vectors in rising order, by their first vector. Each
            vector is in one at least, and no two clusters are equal.
        """
        points = np.asarray(vectors, dtype=float)
        count = len(points)
        found: list[list[int]] = []
        for members in self._mixture(points, max(2, int((count - 1) ** 0.5))):
            if not _LOCAL_FROM < len(members) < count or self._is_small(len(members)):
                found.append(members)
                continue
            inner = self._mixture(points[members], _LOCAL_NEIGHBOURS)
            found += [[members[position] for position in part] for part in inner]
        return _distinct(found)

    def _is_small(self, count: int) -> bool:
        return count <= self.dimensions + 1

    def _mixture(self, points: Points, neighbours: int) -> list[list[int]]:
        if len(points) <= 3:
            return [list(range(len(points)))]
        if self.reduction is None or self._is_small(len(points)):
            points = _turned(points)
        elif points.shape[1] > self.dimensions:
            points = self._reduced(points, neighbours)
        return mixture(points, most=self.max_clusters, threshold=self.threshold, seed=self.seed)

    def _reduced(self, points: Points, neighbours: int) -> Points:
        if self.reduction == "pca":
            return _turned(points)[:, : self.dimensions]
        with _one_at_a_time:
            layout: Any = _umap().UMAP(
                n_neighbors=min(neighbours, len(points) - 1),
                n_components=self.dimensions,
                metric="cosine",
                min_dist=0.0,
                # Not the spectral start, which fails where neighbourhoods do not hang together.
                init="pca",
                random_state=self.seed,
                n_jobs=1,
            )
            reduced: Points = layout.fit_transform(points).astype(float)
        return reduced


def _umap() -> Any:
    with warnings.catch_warnings():
        # It says on import that there is no TensorFlow, which it needs for something else.
        warnings.simplefilter("ignore", ImportWarning)
        return needed("umap")


def _turned(points: Points) -> Points:
    """Return points by their principal components, all of them: distances stay as they are."""
    centred = points - points.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-9 * max(float(sizes[0]), 1e-12)
    turned: Points = (left * sizes)[:, kept]
    return turned if kept.any() else centred


def _distinct(clusters: Iterable[Sequence[int]]) -> list[list[int]]:
    return [list(members) for members in sorted({tuple(members) for members in clusters})]
