"""One prediction in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._common.checks import check_int
from spinney._common.digits import describe_between, describe_near
from spinney._common.messages import reject_parameter
from spinney._data.categories import DOUBLE
from spinney._data.feature_names import describe_difference
from spinney._data.unknown_categories import tell_once
from spinney.dataset import Dataset

_MAX_NAME = 32
_KEPT_AT_END = 12
# Places for bars in a picture, also where there are fewer, and their thickness; a place is 1 high.
_FEWEST_PLACES = 3
_THICKNESS = 0.66
# Of fewer trees, eight of ten cannot be told.
_FEWEST_TREES = 10
# Whole numbers up to this are shown in full.
_MAX_WHOLE = 1e16


@dataclass(frozen=True, repr=False)
class ExplainedPrediction:
    """A prediction as the sum of an expected value and of contributions.

    It is shown as text.

    Attributes
    ----------
    target : str
        What is explained: "prediction", the share of a class, the mean of a quantile forest, or the
        path length of an isolation forest.
    prediction : float
    expected : float
        The prediction if nothing is known of the sample.
    contributions : list of (str, float)
        The largest contributions, each with the name and the value of the feature. The last one may
        be the sum of all other features.
    agreement : str
        How the trees agree.
    nearest : list of (int, float)
        The samples that share most leaves, and the shares of trees; empty without samples to look
        among.
    quantiles : list of (float, float)
        The levels and values of the quantiles that a quantile forest predicts by default. They are
        no sums of contributions.

    See Also
    --------
    spinney.RandomForestClassifier.explain : Returns such an object.
    spinney.RandomForestClassifier.shap_values : The same contributions for many rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> RandomForestRegressor(random_state=0).fit(X, y).explain(X[:1], n_features=2)
     151.8  expected, if nothing is known
    +20.29  bmi = 0.061696
    +17.41  s5 = 0.01991
    -12.28  8 other features
     177.2  prediction
    eight of ten trees predict between 141 and 281
    """

    target: str
    prediction: float
    expected: float
    contributions: list[tuple[str, float]]
    agreement: str
    nearest: list[tuple[int, float]]
    quantiles: list[tuple[float, float]] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a line for each contribution, between lines of the expected value and the sum."""
        expected, prediction = self._describe_ends()
        lines = [
            (expected, "expected, if nothing is known"),
            *((f"{value:+.4g}", name) for name, value in self.contributions),
            (prediction, self.target),
        ]
        width = max(len(number) for number, _ in lines)
        text = [f"{number:>{width}}  {name}" for number, name in lines]
        if self.quantiles:
            scale = abs(self.quantiles[-1][1] - self.quantiles[0][1])
            values = (f"{describe_near(value, scale)} ({q:g})" for q, value in self.quantiles)
            text.append(f"predicted quantiles: {', '.join(values)}")
        text.append(self.agreement)
        if self.nearest:
            rows = ", ".join(f"{row} ({share:.0%} of the trees)" for row, share in self.nearest)
            text.append(f"nearest samples: {rows}")
        return "\n".join(text)

    def __repr__(self) -> str:
        """Return the text."""
        return str(self)

    def _describe_ends(self) -> tuple[str, str]:
        """Return the expected value and the prediction, with digits as small as contributions."""
        scale = max((abs(value) for _, value in self.contributions), default=0.0)
        return describe_near(self.expected, scale), describe_near(self.prediction, scale)

    def plot(self, ax: Any = None) -> Any:
        """Draw the contributions as bars that lead from the expected value to the prediction.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw. None means the axes of a new figure.

        Returns
        -------
        ax : matplotlib axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot draws by matplotlib, which is not installed.") from error
        n = len(self.contributions)
        if ax is None:
            height = 0.65 + 0.36 * max(n, _FEWEST_PLACES)
            _, ax = plt.subplots(figsize=(7.2, height), layout="constrained")
        values = np.array([value for _, value in self.contributions])
        ends = self.expected + np.cumsum(values)
        places = np.arange(n)
        colors = ["#d0605a" if value > 0 else "#4a8fc4" for value in values]
        # The colour of text is readable on light and on dark ground.
        ink = plt.rcParams["text.color"]
        expected, prediction = self._describe_ends()
        for x, style, label in (
            (self.expected, (0, (1, 2)), f"expected: {expected}"),
            (self.prediction, "-", f"{self.target}: {prediction}"),
        ):
            ax.axvline(x, color=ink, linestyle=style, linewidth=1.2, label=label, zorder=0)
        ax.barh(places, values, left=ends - values, color=colors, height=_THICKNESS)
        for start, x in zip(places[:-1], ends, strict=False):
            half = _THICKNESS / 2
            ax.plot([x, x], [start + half, start + 1 - half], color="#808080", linewidth=0.8)
        # Numbers stand beside the frame, where no bar and no line crosses them.
        beside = ax.get_yaxis_transform()
        for place, value in zip(places, values, strict=True):
            ax.annotate(
                f"{value:+.3g}",
                (1, place),
                (4, 0),
                xycoords=beside,
                textcoords="offset points",
                va="center",
                annotation_clip=False,
            )
        ax.set_yticks(places, [name for name, _ in self.contributions], parse_math=False)
        ax.tick_params(axis="y", length=0)
        # A few bars do not become thick ones.
        ax.set_ylim(max(n, _FEWEST_PLACES) - 0.5, -0.5)
        # Bars would otherwise end at the frame.
        ax.use_sticky_edges = False
        ax.margins(x=0.06)
        legend = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        return ax


def explain(estimator: Any, row: Any, n_features: int, Y: Any) -> ExplainedPrediction:
    """Explain the prediction for one sample; see `ShapValues.explain`."""
    check_int("explain", "n_features", n_features, 1)
    names = getattr(estimator, "feature_names_in_", None)
    rows = _make_rows(row, None if names is None else names.tolist())
    if estimator.n_outputs_ > 1:
        raise ValueError(
            f"explain takes one output. Got an estimator with {estimator.n_outputs_} of them."
        )
    with tell_once():
        return _explain_rows(estimator, rows, n_features, Y)


def _explain_rows(estimator: Any, rows: Any, n_features: int, Y: Any) -> ExplainedPrediction:
    values, expected = estimator.shap_values(rows), estimator.expected_value_
    listed = _list_values(rows)
    of_trees, thresholds = _ask_trees(estimator, rows, listed)
    raw = estimator._describe_raw(rows, values)
    if raw is not None:
        target, prediction, expected, contributions = raw
        agreement = f"the sum of {len(of_trees)} trees"
    elif estimator._task == "classification":
        shares = estimator.predict_proba(rows)[0]
        chosen = int(np.argmax(shares))
        label = _cut(str(estimator.classes_[chosen]))
        target, prediction, expected = f"share of class {label}", shares[chosen], expected[chosen]
        contributions = values[chosen] if isinstance(values, list) else values[..., chosen]
        n_agreeing = int(np.sum(np.argmax(of_trees, axis=1) == chosen))
        agreement = f"{n_agreeing} of {len(of_trees)} trees predict class {label}"
        if len(of_trees) == 1:
            agreement = f"one tree, which predicts class {label}"
    else:
        target, method = estimator._explained
        prediction, contributions = getattr(estimator, method)(rows)[0], values
        low, high = np.percentile(of_trees[:, 0], [10, 90])
        how_many = "eight of ten trees"
        if len(of_trees) < _FEWEST_TREES:
            low, high = of_trees[:, 0].min(), of_trees[:, 0].max()
            how_many = f"{len(of_trees)} trees"
        ends = (describe_near(float(end), float(high - low)) for end in (low, high))
        what = f"a {target} " if target == "mean" else ""
        agreement = f"{how_many} predict {what}between {' and '.join(ends)}"
        if len(of_trees) == 1:
            agreement = "one tree"
        agreement = estimator._describe_agreement(rows) or agreement
    if sparse.issparse(contributions):
        contributions = contributions.toarray()
    nearest: list[tuple[int, float]] = []
    if Y is not None:
        indices, shares_of_trees = estimator.nearest(rows, 5, Y=Y)
        pairs = zip(indices[0], shares_of_trees[0], strict=True)
        nearest = [(int(index), float(share)) for index, share in pairs if index >= 0]
    names = estimator._list_feature_names()
    if names is None:
        names = [f"x[{feature}]" for feature in range(estimator.n_features_in_)]
    return ExplainedPrediction(
        target,
        float(prediction),
        float(expected),
        _list_largest(
            contributions[0],
            names,
            _Values(listed, estimator.is_categorical_, thresholds),
            n_features,
        ),
        agreement,
        nearest,
        estimator._list_quantiles(rows),
    )


def _make_rows(row: Any, names: list[str] | None) -> Any:
    """Return one sample as samples."""
    rows: Any = None
    if isinstance(row, Mapping) and not sparse.issparse(row):
        row = _order_by_name(row, names)
    if getattr(row, "ndim", len(getattr(row, "shape", ()))) == 2:
        rows = row
    elif sparse.issparse(row):
        rows = row.reshape(1, -1)
    elif hasattr(row, "to_frame") and hasattr(row, "infer_objects"):
        # A Series of pandas. Its labels name the features, if they are names.
        is_labelled = names is not None and all(isinstance(label, str) for label in row.index)
        rows = row.to_frame().T.infer_objects() if is_labelled else _make_row(row.to_numpy())
    elif isinstance(row, Iterable) and not isinstance(row, (str, bytes, Mapping)):
        values = row.to_numpy() if hasattr(row, "to_numpy") else list(row)
        n_nested = sum(isinstance(value, (list, tuple, np.ndarray)) for value in values)
        if n_nested == 1 == len(values):
            rows = _make_row(values[0])
        elif n_nested == 0:
            rows = _make_row(values)
        elif n_nested == len(values):
            raise ValueError(f"row must be one sample. Got {n_nested} of them.")
    if rows is None or len(rows.shape) != 2:
        expected = "an array-like of shape (n_features,) or (1, n_features), or a dict by name"
        reject_parameter("explain", "row", row, expected)
    if rows.shape[0] != 1:
        raise ValueError(f"row must be one sample. Got {rows.shape[0]} of them.")
    return rows


def _order_by_name(row: Mapping[Any, Any], names: list[str] | None) -> Any:
    """Return a dict as a frame of one row, with the features in the order of the fit."""
    if names is None:
        raise ValueError(
            "row must be an array-like: a dict has names, and the estimator was fitted without any."
        )
    if set(row) != set(names):
        raise ValueError(describe_difference(names, list(row)))
    # The features had names, so that a library of frames is there.
    libraries = ("pandas", "polars", "pyarrow")
    backend: Any = next(name for name in libraries if find_spec(name) is not None)
    values = {name: [row[name]] for name in names}
    return nw.from_dict(values, backend=backend).to_native()


def _make_row(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return a matrix of one row."""
    # As floats, large integers would become other categories.
    keeps_types = any(
        isinstance(value, (str, type(None)))
        or (isinstance(value, Integral) and abs(int(value)) >= DOUBLE)
        for value in values
    )
    return np.array([values], dtype=object if keeps_types else None)


def _list_values(rows: Any) -> list[Any]:
    """Return the values of a sample, as the user has given them."""
    if isinstance(rows, Dataset):
        rows = rows._read_values()
    if sparse.issparse(rows):
        return list(rows.toarray()[0])
    if hasattr(rows, "columns"):
        return [rows[name].to_list()[0] for name in rows.columns]
    return list(rows[0])


def _ask_trees(
    estimator: Any, rows: Any, values: list[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each tree predicts for one sample, and the thresholds next to its values.

    Returns
    -------
    predictions : ndarray of shape (n_trees, n_values)
    thresholds : ndarray of shape (2, n_features)
        For each feature the largest threshold below the value, and the smallest of the others;
        infinite where there is none.
    """
    forest, n_threads = estimator._get_forest(), estimator._count_threads()
    numbers = np.array(
        [float(v) if isinstance(v, (float, np.floating)) else np.nan for v in values]
    )
    of_trees = forest.predict_trees(estimator._validate_X_predict(rows), n_threads)
    return of_trees[0], forest.find_thresholds(numbers, n_threads)


class _Values:
    """The values of a sample in words.

    Parameters
    ----------
    values : list
        One per feature.
    is_categorical : ndarray of bool of shape (n_features,), or None
    thresholds : ndarray of shape (2, n_features)
        Those next to each value.
    """

    def __init__(
        self,
        values: list[Any],
        is_categorical: NDArray[np.bool_] | None,
        thresholds: NDArray[np.float64],
    ) -> None:
        self._values = values
        self._is_categorical = is_categorical
        self._thresholds = thresholds

    def describe(self, feature: int) -> str:
        """Return a value; a number with the digits that tell it from thresholds of its feature."""
        value = self._values[feature]
        if not isinstance(value, (float, np.floating)):
            return "missing" if value is None else _cut(str(value))
        number = float(value)
        if np.isnan(number):
            return "missing"
        # A data set and an array have whole numbers as floats, where a frame may have had ints.
        if abs(number) < _MAX_WHOLE and number.is_integer():
            return f"{number:.0f}"
        if self._is_categorical is not None and self._is_categorical[feature]:
            return repr(number)
        return describe_between(number, self._thresholds[:, feature])


def _list_largest(
    contributions: NDArray[np.float64], names: Sequence[str], values: _Values, n_features: int
) -> list[tuple[str, float]]:
    """Return the largest contributions, and the sum of the others."""
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[contributions[order] != 0]
    shown = order if len(order) <= n_features + 1 else order[:n_features]
    largest = [
        (f"{_cut(str(names[i]))} = {values.describe(int(i))}", float(contributions[i]))
        for i in shown
    ]
    others = order[len(shown) :]
    if len(others):
        largest.append((f"{len(others)} other features", float(contributions[others].sum())))
    return largest


def _cut(text: str) -> str:
    """Return a text that is not too long; names that begin alike may differ at their ends."""
    if len(text) <= _MAX_NAME:
        return text
    return text[: _MAX_NAME - _KEPT_AT_END - 1] + "…" + text[-_KEPT_AT_END:]
