"""Which points belong together: a Gaussian mixture, with as many parts as BIC asks for.

Everything is deterministic: the mixture starts from Ward's tree (1963), not from a random
choice, so that a few points that move do not move the others' clusters.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from langchain_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["mixture", "needed"]

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
