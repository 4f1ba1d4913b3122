"""A slow, plain twin of the engine, in exact arithmetic, and the comparison of two trees.

`check_tree` walks a fitted tree from the root and works out at every node, from the training
rows alone, what has to be there: which rows arrive, their counts, weight, value and impurity,
whether the node has to be a leaf, and if not, which cuts are the best of all. Every feature and
every midpoint is tried, the impurity of both sides is computed from scratch, and nothing is
rounded: weights and targets are scaled to Python integers, Gini and variance are fractions, and
entropies and Poisson deviances are compared through the integers inside their logarithms.

Cuts that are exactly equally good are all correct (which one is taken is decided by a random
order of the features), except that within one feature missing values go right if they may, and then
the lowest threshold has to be taken.
"""

import math
import pickle
from fractions import Fraction
from functools import total_ordering
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

TREE_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)
STRUCTURE = ("children_left", "children_right", "feature", "threshold")
TREE_NUMBERS = ("node_count", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes")

NO_CHILD = -1
NO_FEATURE = -2
# Room for the rounding of one float64 result of an exact number.
ROUNDING = 1e-12


def assert_same_tree(one, other, arrays=TREE_ARRAYS, note=""):
    """Check that two fitted estimators hold the same tree, bit for bit."""
    for name in TREE_NUMBERS:
        assert getattr(one.tree_, name) == getattr(other.tree_, name), f"{note}: {name}"
    for name in arrays:
        left, right = getattr(one.tree_, name), getattr(other.tree_, name)
        assert left.dtype == right.dtype, f"{note}: {name}"
        assert left.shape == right.shape, f"{note}: {name}"
        assert left.tobytes() == right.tobytes(), f"{note}: {name}: {left} != {right}"


def bits(fitted):
    """Return all arrays of a tree, or of each tree of a forest, as bytes."""
    if hasattr(fitted, "estimators_"):
        return [bits(tree) for tree in fitted.estimators_]
    return [getattr(fitted.tree_, name).tobytes() for name in TREE_ARRAYS]


def assert_same_paths(one, other, note=""):
    """Check that two matrices of decision paths mark the same nodes, in the same order."""
    assert one.shape == other.shape, note
    for name in ("indptr", "indices", "data"):
        left, right = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(left, right, err_msg=f"{note}: {name}")


def frozen(estimator):
    """Return the bits of all that an estimator holds, to see later whether anything changed."""
    return {name: pickle.dumps(value) for name, value in vars(estimator).items()}


def as_integers(values):
    """Return integers and a unit such that ``values == integers * unit`` exactly."""
    fractions = [Fraction(value) for value in np.asarray(values).ravel().tolist()]
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    integers = [int(fraction * denominator) for fraction in fractions]
    return integers, Fraction(1, denominator)


def midpoint(low, high):
    """Return the threshold between two neighbouring values: left is ``x <= threshold``.

    Where single precision tells the values apart but does not hold both, doubles go the way that
    they go once they are rounded.
    """
    with np.errstate(over="ignore"):
        below, above = float(np.float32(low)), float(np.float32(high))
        if (below == low and above == high) or below == above:
            return plain_midpoint(low, high)
        middle = plain_midpoint(
            low if math.isinf(below) else below, high if math.isinf(above) else above
        )
        last = float(np.float32(middle))
        if last > middle:
            last = next_single(last, -math.inf)
        last = max(last, below)
        if last >= above:
            last = next_single(above, -math.inf)
        # From a double that rounds up, down to the first one that rounds to this number.
        ends = [min(max(n, -(2.0**128)), 2.0**128) for n in (last, next_single(last, math.inf))]
        threshold = math.nextafter(sum(ends) / 2, math.inf)
        while float(np.float32(threshold)) > last:
            threshold = math.nextafter(threshold, -math.inf)
        return threshold


def next_single(number, towards):
    """Return the next number of single precision."""
    return float(np.nextafter(np.float32(number), np.float32(towards)))


def plain_midpoint(low, high):
    """Return the midpoint, or the lower value where that does not separate the two."""
    if math.isinf(low) or math.isinf(high):
        return low
    middle = float((Fraction(low) + Fraction(high)) / 2)
    return middle if low <= middle < high else low


@total_ordering
class LogRatio:
    """The number ``log(above / below)``, kept as two integers so that comparing is exact."""

    def __init__(self, above, below):
        self.above, self.below = above, below

    def __eq__(self, other):
        return self.above * other.below == other.above * self.below

    def __lt__(self, other):
        return self.above * other.below < other.above * self.below

    __hash__ = None


class Gini:
    """``1 - sum of squared class fractions``, the mean over the outputs."""

    def __init__(self, targets, weights, n_classes):
        self.targets, self.weights, self.n_classes = targets, weights, n_classes

    def counts(self, rows):
        """Return the weight of each class for each output."""
        counts = [[0] * n for n in self.n_classes]
        for row in rows:
            for output, label in enumerate(self.targets[row]):
                counts[output][label] += self.weights[row]
        return counts

    def value(self, rows):
        """Return the class fractions for each output, as `tree_.value` has them."""
        weight = sum(self.weights[row] for row in rows)
        padding = max(self.n_classes)
        return [
            [Fraction(count, weight) for count in counts] + [0] * (padding - len(counts))
            for counts in self.counts(rows)
        ]

    def impurity(self, rows):
        """Return the impurity of a set of rows."""
        value = self.value(rows)
        return sum(1 - sum(p * p for p in fractions) for fractions in value) / Fraction(len(value))

    def allows(self, rows):
        """Say whether the rows may be a side of a cut."""
        return True

    def is_pure(self, rows):
        """Say whether no cut can make the rows purer."""
        return all(len({self.targets[row][k] for row in rows}) == 1 for k in range(self.n_outputs))

    @property
    def n_outputs(self):
        """The number of outputs."""
        return len(self.targets[0])

    def weighted_impurity(self, rows):
        """Return the impurity times the weight of the rows."""
        return sum(self.weights[row] for row in rows) * self.impurity(rows)

    def goodness(self, left, right):
        """Return something that is larger the better the cut is, and equal only if as good."""
        return -(self.weighted_impurity(left) + self.weighted_impurity(right))


class Entropy(Gini):
    """``- sum of p log2 p`` in bits, the mean over the outputs."""

    def impurity(self, rows):
        """Return the impurity of a set of rows; the only one that is not exact."""
        value = self.value(rows)
        return -sum(float(p) * math.log2(p) for row in value for p in row if p) / len(value)

    def goodness(self, left, right):
        """Return ``sum over sides of sum_k c_k log c_k - w log w``, which is ``-w * entropy``.

        The sum of logarithms is the logarithm of ``product of c_k^c_k / w^w``.
        """
        above = below = 1
        for side in (left, right):
            weight = sum(self.weights[row] for row in side)
            for counts in self.counts(side):
                below *= weight**weight
                for count in counts:
                    above *= count**count
        return LogRatio(above, below)


class SquaredError(Gini):
    """The variance, the mean over the outputs."""

    def value(self, rows):
        """Return the mean for each output."""
        weight = sum(self.weights[row] for row in rows)
        return [
            [Fraction(sum(self.weights[row] * self.targets[row][k] for row in rows), weight)]
            for k in range(self.n_outputs)
        ]

    def impurity(self, rows):
        """Return the variance, from its definition as a mean of squared distances."""
        weight = sum(self.weights[row] for row in rows)
        total = 0
        for k, (mean,) in enumerate(self.value(rows)):
            # (y - mean)^2 with the denominator of the mean pulled out of the sum: integers only
            p, q = mean.numerator, mean.denominator
            squares = sum(self.weights[r] * (q * self.targets[r][k] - p) ** 2 for r in rows)
            total += Fraction(squares, q * q * weight)
        return total / self.n_outputs


class Poisson(SquaredError):
    """Half the mean Poisson deviance, the mean over the outputs."""

    def sums(self, rows):
        """Return the weighted sum of each output."""
        return [
            sum(self.weights[row] * self.targets[row][k] for row in rows)
            for k in range(self.n_outputs)
        ]

    def allows(self, rows):
        """Say whether every output has a count above 0."""
        return all(total > 0 for total in self.sums(rows))

    def impurity(self, rows):
        """Return the deviance of a set of rows; not exact."""
        if not self.allows(rows):
            return math.inf
        weight = sum(self.weights[row] for row in rows)
        deviance = 0.0
        for k, total in enumerate(self.sums(rows)):
            for row in rows:
                y = self.targets[row][k]
                if y > 0:
                    deviance += self.weights[row] * y * math.log(Fraction(y * weight, total))
        return deviance / (weight * self.n_outputs)

    def goodness(self, left, right):
        """Return ``sum over sides of s log(s / w)``: minus the deviance, and a constant.

        The sum of logarithms is the logarithm of ``product of s^s / w^s``.
        """
        above = below = 1
        for side in (left, right):
            weight = sum(self.weights[row] for row in side)
            for total in self.sums(side):
                above *= total**total
                below *= weight**total
        return LogRatio(above, below)


class Quantile(SquaredError):
    """The mean pinball loss about a quantile, the mean over the outputs."""

    def __init__(self, targets, weights, n_classes, level=Fraction(1, 2), scale=1):
        super().__init__(targets, weights, n_classes)
        self.level, self.scale = level, scale

    def value(self, rows):
        """Return where each output's weights meet and pass the level, and half way between."""
        share = self.level * sum(self.weights[row] for row in rows)
        values = []
        for k in range(self.n_outputs):
            passed, met = None, None
            below = 0
            for target, weight in sorted((self.targets[row][k], self.weights[row]) for row in rows):
                below += weight
                if met is None and below >= share:
                    met = target
                if passed is None and below > share:
                    passed = target
            values.append([Fraction(met + passed, 2)])
        return values

    def impurity(self, rows):
        """Return the loss about the value, which is no greater about any other point."""
        weight = sum(self.weights[row] for row in rows)
        total = 0
        for k, (point,) in enumerate(self.value(rows)):
            for row in rows:
                excess = self.targets[row][k] - point
                slope = self.level if excess > 0 else self.level - 1
                total += self.weights[row] * slope * excess
        return self.scale * total / Fraction(weight * self.n_outputs)


class AbsoluteError(Quantile):
    """The mean distance from the median, the mean over the outputs."""

    def __init__(self, targets, weights, n_classes):
        super().__init__(targets, weights, n_classes, scale=2)


CRITERIA = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Entropy,
    "squared_error": SquaredError,
    "friedman_mse": SquaredError,
    "poisson": Poisson,
    "absolute_error": AbsoluteError,
    "quantile": Quantile,
}


class Cut(NamedTuple):
    """One way of cutting a node in two."""

    feature: int
    # infinity parts missing values from all others
    threshold: float
    missing_left: bool
    left: list
    right: list


class Problem:
    """A training set in exact numbers, with the stop rules of an estimator."""

    def __init__(self, estimator, X, y, sample_weight=None):
        params = estimator.get_params()
        self.X = np.asarray(X, dtype=np.float64).tolist()
        self.n_samples, self.n_features = np.shape(X)
        self.set_weights(sample_weight)
        y = np.asarray(y).reshape(self.n_samples, -1)
        self.target_unit, n_classes = Fraction(1), None
        if is_classifier(estimator):
            coded = [np.unique(column, return_inverse=True) for column in y.T]
            targets = np.column_stack([codes.ravel() for _, codes in coded]).tolist()
            n_classes = [len(labels) for labels, _ in coded]
        else:
            integers, self.target_unit = as_integers(y)
            targets = [integers[i : i + y.shape[1]] for i in range(0, len(integers), y.shape[1])]
        self.targets = targets
        self.spread = 1
        if n_classes is None:
            self.spread = max(max(column) - min(column) for column in zip(*targets, strict=True))
        criterion, options = params["criterion"], {}
        if criterion == "quantile":
            options["level"] = Fraction(params["quantile"]).limit_denominator(10**6)
        self.criterion = CRITERIA[criterion](targets, self.weights, n_classes, **options)
        # values, losses and deviances scale with the unit of the targets, variances with its square
        self.value_unit = self.target_unit
        is_linear = criterion in ("poisson", "absolute_error", "quantile")
        self.impurity_unit = self.target_unit if is_linear else self.target_unit**2

        self.exhaustive = params["splitter"] == "best" and params["max_features"] is None
        self.max_depth = math.inf if params["max_depth"] is None else params["max_depth"]
        self.min_samples_leaf = self.at_least(params["min_samples_leaf"], 1)
        self.min_samples_split = max(
            self.at_least(params["min_samples_split"], 2), 2 * self.min_samples_leaf
        )
        fraction = Fraction(params["min_weight_fraction_leaf"])
        self.min_weight_leaf = fraction * sum(self.weights)
        self.min_impurity_decrease = params["min_impurity_decrease"]
        self.max_leaf_nodes = params["max_leaf_nodes"]

    def set_weights(self, sample_weight):
        """Scale the weights to integers; rows of weight 0 are left out."""
        weights = np.ones(self.n_samples) if sample_weight is None else sample_weight
        self.weights, self.weight_unit = as_integers(weights)
        self.root = [row for row in range(self.n_samples) if self.weights[row] > 0]

    def at_least(self, rule, lowest):
        """Return a number of samples from a number or a fraction of all samples."""
        if isinstance(rule, float):
            return max(lowest, math.ceil(rule * self.n_samples))
        return rule

    def weight(self, rows):
        """Return the weight of some rows, in integer units."""
        return sum(self.weights[row] for row in rows)

    def cuts(self, rows):
        """Yield every cut that leaves enough samples and weight on both sides."""
        for feature in range(self.n_features):
            values = sorted(set(self.present(rows, feature)))
            thresholds = [midpoint(low, high) for low, high in pairwise(values)]
            places = [(threshold, False) for threshold in thresholds]
            if values and self.has_missing(rows, feature):
                places.append((math.inf, False))
                places += [(threshold, True) for threshold in thresholds]
            for threshold, missing_left in places:
                cut = self.cut(rows, feature, threshold, missing_left)
                if self.leaves_enough(cut):
                    yield cut

    def present(self, rows, feature):
        """Return the values of a feature that are not missing."""
        values = (self.X[row][feature] for row in rows)
        return [value for value in values if not math.isnan(value)]

    def has_missing(self, rows, feature):
        """Say whether some rows lack a value of a feature."""
        return any(math.isnan(self.X[row][feature]) for row in rows)

    def cut(self, rows, feature, threshold, missing_left):
        """Return the two sides of a cut."""

        def goes_left(row):
            value = self.X[row][feature]
            return missing_left if math.isnan(value) else value <= threshold

        left = [row for row in rows if goes_left(row)]
        right = [row for row in rows if not goes_left(row)]
        return Cut(feature, threshold, missing_left, left, right)

    def leaves_enough(self, cut):
        """Say whether both sides of a cut have as many samples and weight as a leaf needs."""
        return all(
            len(side) >= self.min_samples_leaf
            and self.weight(side) >= self.min_weight_leaf
            and self.criterion.allows(side)
            for side in (cut.left, cut.right)
        )

    def must_stop(self, rows, depth):
        """Say whether a node is a leaf whatever the features look like."""
        return (
            depth >= self.max_depth
            or len(rows) < self.min_samples_split
            or self.weight(rows) < 2 * self.min_weight_leaf
            or self.criterion.is_pure(rows)
        )

    def improvement(self, rows, cut):
        """Return the share of the node in the whole times its decrease of impurity."""
        before = self.criterion.weighted_impurity(rows)
        after = sum(self.criterion.weighted_impurity(side) for side in (cut.left, cut.right))
        return float((before - after) * self.impurity_unit / self.weight(self.root))


def best_cuts(problem, cuts, slack):
    """Return the cuts that may be taken: per feature the lowest among the best of all.

    With a `slack` (for targets or weights that do not fit the fixed point numbers of the engine)
    every cut is allowed that is worse than the best by at most that part of the largest possible
    weighted impurity.
    """
    if slack:
        # plain floats here, since an exact entropy of large weights is out of reach
        room = slack * float(problem.weight(problem.root) * problem.spread**2)
        score = {
            id(cut): -float(
                problem.criterion.weighted_impurity(cut.left)
                + problem.criterion.weighted_impurity(cut.right)
            )
            for cut in cuts
        }
        best = max(score.values())
        return [cut for cut in cuts if score[id(cut)] >= best - room]
    goodness = [problem.criterion.goodness(cut.left, cut.right) for cut in cuts]
    best = max(goodness)
    lowest = {}
    for cut, good in zip(cuts, goodness, strict=True):
        if good == best:
            lowest.setdefault(cut.feature, cut)
    return list(lowest.values())


def check_tree(estimator, X, y, sample_weight=None, slack=0.0):
    """Check every node of a fitted tree against the exact oracle.

    With `splitter="random"` or fewer than all features per node, the choice among the cuts is
    free, and only its validity is checked.
    """
    tree = estimator.tree_
    problem = Problem(estimator, X, y, sample_weight)
    near = max(ROUNDING, slack)
    leaf_of = estimator.apply(np.asarray(X, dtype=np.float64))
    stack = [(problem.root, 0, None, None)]
    improvements = {}
    n_nodes = n_leaves = deepest = 0
    while stack:
        rows, depth, parent, side = stack.pop()
        node, n_nodes = n_nodes, n_nodes + 1
        assert node < tree.node_count
        if parent is not None:
            assert getattr(tree, side)[parent] == node, "ids are in preorder, left child first"
        deepest = max(deepest, depth)
        check_contents(problem, tree, node, rows, near)

        if tree.children_left[node] == NO_CHILD:
            n_leaves += 1
            improvements[node] = check_leaf(problem, tree, node, rows, depth)
            assert (leaf_of[rows] == node).all()
            continue
        assert not problem.must_stop(rows, depth), f"node {node} should be a leaf"
        feature, missing_left = int(tree.feature[node]), bool(tree.missing_go_to_left[node])
        cut = problem.cut(rows, feature, float(tree.threshold[node]), missing_left)
        if not problem.has_missing(rows, feature):
            # to the heavier side
            assert missing_left == (problem.weight(cut.left) > problem.weight(cut.right))
        check_choice(problem, node, rows, cut, slack)
        improvements[node] = problem.improvement(rows, cut)
        stack.append((cut.right, depth + 1, node, "children_right"))
        stack.append((cut.left, depth + 1, node, "children_left"))
    assert n_nodes == tree.node_count
    assert n_leaves == tree.n_leaves == estimator.get_n_leaves()
    assert deepest == tree.max_depth == estimator.get_depth()
    if problem.max_leaf_nodes is not None:
        check_turns(problem, tree, improvements)


def check_turns(problem, tree, improvements):
    """Check that the node that improves the tree most was always the next to be cut."""
    assert tree.n_leaves <= problem.max_leaf_nodes
    near = ROUNDING * (1 + tree.impurity[0]) if np.isfinite(tree.impurity[0]) else 0.0
    reached = {0}
    while inner := [node for node in reached if tree.children_left[node] != NO_CHILD]:
        node = max(inner, key=improvements.get)
        for other in reached - {node}:
            assert improvements[other] <= improvements[node] + near, f"{other} before {node}"
        reached -= {node}
        reached |= {int(tree.children_left[node]), int(tree.children_right[node])}


def check_contents(problem, tree, node, rows, near):
    """Check the counts, the value and the impurity of a node."""
    assert tree.n_node_samples[node] == len(rows)
    weight = float(problem.weight(rows) * problem.weight_unit)
    assert math.isclose(tree.weighted_n_node_samples[node], weight, rel_tol=near)

    value = [
        [float(v * problem.value_unit) for v in output] for output in problem.criterion.value(rows)
    ]
    scale = 1 + np.abs(tree.value[0]).max()
    np.testing.assert_allclose(tree.value[node], value, rtol=near, atol=near * scale)
    impurity = float(problem.criterion.impurity(rows) * problem.impurity_unit)
    scale = 1 + tree.impurity[0]
    np.testing.assert_allclose(tree.impurity[node], impurity, rtol=near, atol=near * scale)


def check_leaf(problem, tree, node, rows, depth):
    """Check that a node without children looks like a leaf and had to be one.

    Return what its best cut would improve, or minus infinity; then the tree is full.
    """
    assert tree.children_right[node] == NO_CHILD
    assert tree.feature[node] == NO_FEATURE
    assert tree.threshold[node] == NO_FEATURE
    if problem.must_stop(rows, depth):
        return -math.inf
    cuts = list(problem.cuts(rows))
    if not cuts:
        return -math.inf
    if tree.n_leaves == problem.max_leaf_nodes:
        if not problem.exhaustive:
            return -math.inf
        improvement = problem.improvement(rows, best_cuts(problem, cuts, 0.0)[0])
        # one that is not allowed has no turn
        return improvement if improvement >= problem.min_impurity_decrease else -math.inf
    if problem.exhaustive:
        # where nothing is asked of the decrease, even a cut that gains nothing is taken
        assert problem.min_impurity_decrease > 0, f"leaf {node} can be cut"
        improvement = max(problem.improvement(rows, cut) for cut in cuts)
        assert improvement < problem.min_impurity_decrease + ROUNDING, f"leaf {node} can be cut"
    else:
        # The features drawn may offer no valid cut, but only if there is a rule for cuts.
        assert (
            problem.min_samples_leaf > 1
            or problem.min_weight_leaf > 0
            or problem.min_impurity_decrease > 0
            or isinstance(problem.criterion, Poisson)
        ), f"leaf {node} can be cut"
    return -math.inf


def check_choice(problem, node, rows, cut, slack):
    """Check that the cut of an inner node is valid and, if all were tried, one of the best."""
    assert cut.left, f"node {node} has nothing on the left"
    assert cut.right, f"node {node} has nothing on the right"
    assert problem.leaves_enough(cut)
    assert problem.improvement(rows, cut) >= problem.min_impurity_decrease - ROUNDING
    values = problem.present(rows, cut.feature)
    has_missing = problem.has_missing(rows, cut.feature)
    assert min(values) <= cut.threshold
    assert cut.threshold < max(values) or (has_missing and cut.threshold == math.inf)
    if problem.exhaustive:
        best = best_cuts(problem, list(problem.cuts(rows)), slack)
        allowed = [(other.feature, other.threshold, other.left) for other in best]
        taken = (cut.feature, cut.threshold, cut.left)
        assert taken in allowed, f"node {node} is not cut at its best"
