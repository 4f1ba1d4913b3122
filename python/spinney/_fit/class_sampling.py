"""How many samples of each class a tree gets."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.checks import is_bool
from spinney._common.messages import reject_parameter
from spinney._fit.draws import Draws, Strata, mend_rounding
from spinney._fit.target import EncodedTarget

# Which classes are drawn, by the name of the strategy, given the sizes of the classes.
_STRATEGIES: dict[str, Callable[[NDArray[np.int64]], NDArray[np.bool_]]] = {
    "all": lambda sizes: np.ones(sizes.shape[0], dtype=bool),
    "auto": lambda sizes: np.arange(sizes.shape[0]) != sizes.argmin(),
    "majority": lambda sizes: np.arange(sizes.shape[0]) == sizes.argmax(),
    "not majority": lambda sizes: np.arange(sizes.shape[0]) != sizes.argmax(),
    "not minority": lambda sizes: np.arange(sizes.shape[0]) != sizes.argmin(),
}


class ClassSampling:
    """A parameter that says how many samples of each class are drawn, in imbalanced-learn's words.

    Parameters
    ----------
    name : str
        The name of the parameter.
    strategy : str, float, dict or callable
        Its value.
    replace : bool
        Whether a sample may be drawn several times.
    """

    def __init__(self, name: str, strategy: Any, replace: bool) -> None:
        self._name, self._strategy, self._replace = name, strategy, replace

    def check(self, owner: str) -> None:
        """Raise InvalidParameterError for values that are illegal for any data."""
        strategy = self._strategy
        if isinstance(strategy, str):
            is_legal = strategy in _STRATEGIES
        elif isinstance(strategy, Real) and not is_bool(strategy):
            is_legal = 0.0 < float(strategy) <= 1.0
        else:
            is_legal = isinstance(strategy, dict) or callable(strategy)
        if not is_legal:
            names = ", ".join(map(repr, _STRATEGIES))
            expected = (
                f"a str among {{{names}}}, a float in the range (0.0, 1.0], a dict or a callable"
            )
            reject_parameter(owner, self._name, strategy, expected)

    def divide(
        self, draws: Draws, y: NDArray[Any], target: EncodedTarget, classes: Any
    ) -> tuple[Strata, NDArray[np.int64]]:
        """Return what is drawn of each class, and the number of samples that each class has.

        A class that is not named has None as its number of draws. Samples of weight 0 are
        not counted.

        Parameters
        ----------
        draws : Draws
            Has the weights of the samples.
        y : ndarray of shape (n_samples, 1)
            Labels.
        target : EncodedTarget
            Their codes.
        classes : ndarray of shape (n_classes,)
            The label of each code.
        """
        if target.y.shape[1] > 1:
            raise ValueError(
                f"{self._name} needs one output of classes, by which samples are drawn. "
                f"Got {target.y.shape[1]} of them."
            )
        codes = np.ascontiguousarray(target.y[:, 0], dtype=np.uint32)
        used = codes if draws.sample_weight is None else codes[draws.sample_weight > 0]
        sizes = np.bincount(used, minlength=len(classes)).astype(np.int64)
        return Strata(codes, self._count(sizes, y[:, 0], classes), self._replace, None), sizes

    def _count(
        self, sizes: NDArray[np.int64], y: NDArray[Any], classes: NDArray[Any]
    ) -> list[int | None]:
        """Return how many samples of each class are drawn; None if nothing is said of a class.

        Parameters
        ----------
        sizes : ndarray of shape (n_classes,)
            The number of samples of each class with a weight above 0.
        y : ndarray of shape (n_samples,)
            Labels.
        classes : ndarray of shape (n_classes,)
            The label of each class.
        """
        strategy = self._strategy
        if isinstance(strategy, str):
            # Classes whose samples all weigh 0 are not there.
            least = int(sizes[sizes > 0].min(initial=sizes.max()))
            is_drawn = _STRATEGIES[strategy](sizes) & (sizes > 0)
            return [least if drawn else None for drawn in is_drawn]
        if isinstance(strategy, Real):
            return self._count_by_share(sizes, float(strategy))
        wanted = strategy(y) if callable(strategy) else strategy
        if not isinstance(wanted, dict):
            raise ValueError(
                f"{self._name} must return a dict of classes and numbers of samples. "
                f"Got {wanted!r} instead."
            )
        return self._count_by_class(sizes, wanted, classes)

    def _count_by_class(
        self, sizes: NDArray[np.int64], wanted: dict[Any, Any], classes: NDArray[Any]
    ) -> list[int | None]:
        places = {label: place for place, label in enumerate(classes.tolist())}
        counts: list[int | None] = [None] * len(sizes)
        for label, n in wanted.items():
            if label not in places:
                raise ValueError(
                    f"{self._name} must have classes of y, {list(places)}. Got {label!r}."
                )
            place = places[label]
            most = np.inf if self._replace and sizes[place] > 0 else sizes[place]
            if not isinstance(n, Integral) or is_bool(n) or not 0 <= int(n) <= most:
                limit = "" if most == np.inf else f", at most its {most} samples"
                raise ValueError(
                    f"{self._name} must have a number of samples for the class {label!r}"
                    f"{limit}. Got {n!r} instead."
                )
            counts[place] = int(n)
        if sum(int(size) if n is None else n for size, n in zip(sizes, counts, strict=True)) == 0:
            raise ValueError(f"{self._name} must leave a sample for a tree. Got none.")
        return counts

    def _count_by_share(self, sizes: NDArray[np.int64], share: float) -> list[int | None]:
        """Return the draws where the smaller of two classes is this share of the larger one."""
        if len(sizes) != 2:
            raise ValueError(
                f"A float as {self._name} is for two classes. "
                f"Got {len(sizes)} classes: use a dict, a str or a callable."
            )
        least, most = int(sizes.min()), int(sizes.max())
        n = int(mend_rounding(least / share))
        if n > most:
            raise ValueError(
                f"{self._name}={share} would need {n} samples of the larger class, which has "
                f"{most}: it must be at least {least / most:.6g}."
            )
        return [None if place == int(sizes.argmin()) else n for place in range(2)]
