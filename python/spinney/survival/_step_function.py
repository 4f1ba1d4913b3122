"""Functions of time that are constant between steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class StepFunction:
    """A function that is constant from each of its points to the next one.

    It has the arguments and attributes of scikit-survival's class, and `before` besides:
    ``f(z) = a * y[i] + b`` for ``x[i] <= z < x[i + 1]``. After the last place it keeps the value of
    that place, as far as its domain goes.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Places of the steps, ascending.
    y : ndarray of shape (n_points,)
        Values from the places on.
    a, b : float, default=1.0 and 0.0
        Factor and summand of the values.
    domain : tuple, default=(0, None)
        The least and the greatest argument; None means the first or the last place.
    before : float, default=None
        The value before the first place, multiplied and added to like `y`. None means the value of
        the first place.

    See Also
    --------
    RandomSurvivalForest.predict_survival_function : Makes one for each row.
    kaplan_meier_estimator : Estimates one curve for all rows.

    Examples
    --------
    >>> from spinney.survival import StepFunction
    >>> import numpy as np
    >>> steps = StepFunction(np.array([1.0, 3.0]), np.array([0.9, 0.4]))
    >>> steps([1.0, 2.0, 3.0]).tolist()
    [0.9, 0.9, 0.4]
    """

    def __init__(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        *,
        a: float = 1.0,
        b: float = 0.0,
        domain: tuple[float | None, float | None] = (0, None),
        before: float | None = None,
    ) -> None:
        if np.ndim(x) != 1 or np.shape(x) != np.shape(y) or len(x) == 0:
            raise ValueError(
                f"x and y must have one shape (n_points,). Got {np.shape(x)} and {np.shape(y)}."
            )
        self.x, self.y, self.a, self.b, self.before = x, y, a, b, before
        self._domain = (
            x[0] if domain[0] is None else domain[0],
            x[-1] if domain[1] is None else domain[1],
        )

    @property
    def domain(self) -> tuple[float, float]:
        """The least and the greatest argument."""
        return self._domain

    def __call__(self, x: Any) -> Any:
        """Return the values at some arguments.

        Parameters
        ----------
        x : float or array-like of shape (n_values,)
            Arguments in `domain`.

        Returns
        -------
        y : float or ndarray of shape (n_values,)

        Raises
        ------
        ValueError
            If an argument is outside of the domain, or not finite.
        """
        arguments = np.atleast_1d(np.asarray(x, dtype=np.float64))
        if not np.isfinite(arguments).all():
            raise ValueError("x must be finite.")
        low, high = self._domain
        if arguments.size and not (low <= arguments.min() and arguments.max() <= high):
            raise ValueError(
                f"x must be within [{low:f}; {high:f}]. "
                f"Got values from {arguments.min():f} to {arguments.max():f}."
            )
        places = np.searchsorted(self.x, arguments, side="right")
        values = np.asarray(self.y)[np.maximum(places - 1, 0)]
        if self.before is not None:
            values = np.where(places == 0, self.before, values)
        values = self.a * values + self.b
        return values[0] if np.ndim(x) == 0 else values

    def __repr__(self) -> str:
        """Return the arguments, of many points the first and the last ones."""
        before = "" if self.before is None else f", before={self.before!r}"
        with np.printoptions(threshold=6, edgeitems=2, precision=4):
            points = f"x={self.x!r}, y={self.y!r}"
        return f"StepFunction({points}, a={self.a!r}, b={self.b!r}{before})"

    def __eq__(self, other: object) -> bool:
        """Return whether another function has the same points and numbers."""
        if not isinstance(other, StepFunction):
            return NotImplemented
        return (
            np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
            and (self.a, self.b, self.before, self._domain)
            == (other.a, other.b, other.before, other._domain)
        )

    __hash__ = None  # type: ignore[assignment]
