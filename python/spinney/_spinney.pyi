from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

# `spinney._fit.task.Task` and `spinney._fit.draws.Draws`, whose fields are read by name. Their
# modules stand above this one.
_Task: TypeAlias = Any
_Draws: TypeAlias = Any
# A format and the sections of trees.
_State: TypeAlias = tuple[int, list[NDArray[np.uint8]]]

__all__ = [
    "Columns",
    "Forest",
    "LazyForest",
    "Rounds",
    "Tree",
    "__version__",
    "bound_intervals",
    "check_params",
    "check_sparse",
    "count_concordance",
    "count_rows_in_leaves",
    "draw_rows",
    "fill_forest",
    "fill_leaves",
    "fit_forest",
    "fit_isolation_forest",
    "fit_tree",
    "forest_expected_value",
    "forest_oob_changes",
    "forest_oob_importances",
    "forest_partial_dependence",
    "forest_shap_interactions",
    "forest_shap_values",
    "frame_model",
    "join_heads",
    "list_drawn_rows",
    "list_rows_of_leaves",
    "list_tree_features",
    "list_tree_seeds",
    "mark_unseen",
    "mean_loss_of",
    "mean_path_length",
    "predict_folds",
    "predict_leaf_curves",
    "predict_leaf_quantiles",
    "rank_in_leaves",
    "read_columns",
    "read_forest",
    "read_tree",
    "share_leaves",
    "split_model",
    "sum_rounds",
]

__version__: str

def bound_intervals(
    predictions: NDArray[np.float64],
    unseen: NDArray[np.uint32] | NDArray[np.uint8],
    residuals: NDArray[np.float64],
    copies: NDArray[np.float64] | None,
    masses: list[float],
    shortest: bool,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def check_params(params: dict[str, Any], estimator: str, task: str) -> None: ...
def check_sparse(x: Any) -> None: ...
def count_concordance(
    events: NDArray[np.bool_],
    times: NDArray[np.float64],
    risks: NDArray[np.float64],
    tolerance: float,
) -> tuple[int, int, int, int]: ...
def count_rows_in_leaves(
    leaf_rows: Any,
    leaves: NDArray[np.int64],
    counts: NDArray[np.uint8] | None,
    most: int | None = None,
    n_threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint64]]: ...
def draw_rows(draws: _Draws, seeds: list[int], n_threads: int = 1) -> list[NDArray[np.uint32]]: ...
def fill_forest(forest: Forest, x: Any, task: _Task) -> Forest: ...
def fill_leaves(
    forest: Forest,
    x: Any,
    data: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None],
    starts: NDArray[np.int64],
    rows: NDArray[np.uint32],
    n_threads: int = 1,
) -> Forest: ...
def fit_forest(x: Any, task: _Task) -> tuple[Forest, int, NDArray[np.int64]]: ...
def fit_isolation_forest(
    x: Any,
    bags: list[NDArray[np.uint32]],
    shape: tuple[int, int, int, int | None],
    n_categories: list[int] | None = None,
    n_threads: int = 1,
    watcher: Callable[[int], Any] | None = None,
) -> Forest: ...
def fit_tree(x: Any, task: _Task) -> tuple[Tree, int, NDArray[np.int64]]: ...
def forest_expected_value(forest: Forest, n_threads: int = 1) -> NDArray[np.float64]: ...
def forest_oob_changes(
    forest: Forest,
    x: Any,
    draws: _Draws,
    groups: NDArray[np.uint32],
    n_groups: int,
    donors: NDArray[np.uint32],
    asked: NDArray[np.bool_] | None = None,
    n_threads: int = 1,
    watcher: Callable[[int], Any] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]: ...
def forest_oob_importances(
    forest: Forest,
    x: Any,
    y: NDArray[np.float64],
    draws: _Draws,
    permutations: tuple[str, NDArray[np.uint32], int, int, int] | None = None,
    asked: NDArray[np.bool_] | None = None,
    n_threads: int = 1,
    watcher: Callable[[int], Any] | None = None,
) -> NDArray[np.float64]: ...
def forest_partial_dependence(
    forest: Forest,
    features: NDArray[np.uint32],
    points: NDArray[np.float64],
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def forest_shap_interactions(
    forest: Forest, x: Any, n_threads: int = 1, watcher: Callable[[int], Any] | None = None
) -> NDArray[np.float64]: ...
def forest_shap_values(
    forest: Forest,
    x: Any,
    sparse_output: bool = False,
    n_threads: int = 1,
    watcher: Callable[[int], Any] | None = None,
) -> Any: ...
def frame_model(
    sections: list[tuple[str, NDArray[np.uint8]]], n_threads: int = 1
) -> NDArray[np.uint8]: ...
def join_heads(heads: list[tuple[NDArray[np.uint8], ...]]) -> list[NDArray[np.uint8]]: ...
def list_drawn_rows(
    draws: _Draws, seeds: list[int], n_threads: int = 1, only_filling: bool = False
) -> list[NDArray[np.uint32]]: ...
def list_rows_of_leaves(
    leaves: NDArray[np.int64],
    trees: tuple[NDArray[np.int64], NDArray[np.uint64]],
    draws: _Draws,
    order: NDArray[np.uint32],
    limit: int | None = None,
    n_threads: int = 1,
) -> tuple[Any, ...]: ...
def list_tree_features(
    seeds: list[int], n_features: int, max_features: int
) -> list[NDArray[np.uint32]]: ...
def list_tree_seeds(seed: int, first_tree: int, n_trees: int) -> list[int]: ...
def mark_unseen(draws: _Draws, seeds: list[int], n_threads: int = 1) -> NDArray[np.uint8]: ...
def mean_loss_of(
    loss: tuple[str, float],
    y: NDArray[np.float64],
    raw: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    delta: float,
) -> float: ...
def mean_path_length(n_samples: int) -> float: ...
def predict_folds(
    x: Any,
    task: _Task,
    folds: list[tuple[NDArray[np.uint32], bool, NDArray[np.uint32], _Draws]],
    sample_ids: NDArray[np.uint64] | None,
    is_tree: bool,
) -> list[NDArray[np.float64]]: ...
def predict_leaf_curves(
    leaf_rows: Any,
    leaves: NDArray[np.int64],
    counts: NDArray[np.uint8] | None,
    events: NDArray[np.uint32],
    at: NDArray[np.float64],
    curve: str | int,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def predict_leaf_quantiles(
    leaf_rows: Any,
    leaves: NDArray[np.int64],
    counts: NDArray[np.uint8] | None,
    quantiles: NDArray[np.float64],
    how: tuple[str, bool, bool],
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def rank_in_leaves(
    leaf_rows: Any,
    leaves: NDArray[np.int64],
    counts: NDArray[np.uint8] | None,
    y: NDArray[np.float64],
    how: tuple[str, bool, bool],
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def read_columns(
    format_number: int, sections: list[tuple[str, NDArray[np.uint8]]], n_threads: int = 1
) -> Columns: ...
def read_forest(
    format_number: int, sections: list[NDArray[np.uint8]], n_threads: int = 1
) -> Forest: ...
def read_tree(format_number: int, sections: list[NDArray[np.uint8]]) -> Tree: ...
def share_leaves(
    leaves: NDArray[np.int64],
    others: NDArray[np.int64] | None = None,
    unseen: NDArray[np.uint8] | None = None,
    n_threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
def split_model(data: NDArray[np.uint8], n_threads: int = 1) -> list[tuple[str, int, int]]: ...
def sum_rounds(forest: Forest, x: Any, n_raw: int, n_threads: int = 1) -> NDArray[np.float64]: ...

@final
class Columns:
    def __new__(
        cls, x: Any, n_categories: list[int] | None = None, n_threads: int = 1
    ) -> Columns: ...
    @staticmethod
    def learn(
        x: Any, is_categorical: list[bool], n_threads: int
    ) -> tuple[Columns, list[NDArray[np.float64] | None]] | None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def n_categories(self) -> list[int]: ...
    @property
    def n_distinct(self) -> NDArray[np.int64]: ...
    @property
    def has_missing(self) -> NDArray[np.uint8]: ...
    def with_rows(self, rows: NDArray[np.uint32]) -> Columns: ...
    def with_codes(self, codes: list[NDArray[np.float64] | None]) -> Columns: ...
    def present_codes(self) -> list[NDArray[np.int64] | None]: ...
    def decode(self) -> Any: ...
    def sections(self) -> list[tuple[str, NDArray[np.uint8]]]: ...
    def own(self, n_threads: int = 1) -> Columns: ...

@final
class Forest:
    def __new__(cls, trees: list[Tree] | None = None, seeds: list[int] = ...) -> Forest: ...
    def __getstate__(self) -> _State: ...
    def __setstate__(self, state: _State) -> None: ...
    def __reduce__(self) -> tuple[Any, tuple[int, list[NDArray[np.uint8]]]]: ...
    def __deepcopy__(self, _memo: Any) -> Forest: ...
    @property
    def sections_format(self) -> int: ...
    def sections(self) -> list[NDArray[np.uint8]]: ...
    def __len__(self) -> int: ...
    def tree(self, index: int) -> Tree: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_classes(self) -> list[int]: ...
    @property
    def n_categories(self) -> list[int]: ...
    @property
    def node_counts(self) -> NDArray[np.int64]: ...
    def extended(self, other: Forest) -> Forest: ...
    def afresh(self) -> Forest: ...
    def part(self, start: int, stop: int, step: int) -> Forest: ...
    def compute_feature_importances(self) -> NDArray[np.float64]: ...
    def tree_importances(self, n_threads: int = 1) -> NDArray[np.float64]: ...
    def predict(self, x: Any, n_threads: int = 1) -> NDArray[np.float64]: ...
    def predict_trees(
        self,
        x: Any,
        n_threads: int = 1,
        rows: tuple[int, int] | None = None,
        bag_size: int = 1,
    ) -> NDArray[np.float64]: ...
    def find_thresholds(
        self, values: NDArray[np.float64], n_threads: int = 1
    ) -> NDArray[np.float64]: ...
    def predict_classes(self, x: Any, n_threads: int = 1) -> NDArray[np.uint32]: ...
    def predict_oob(
        self, x: Any, draws: _Draws, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def sum_oob(
        self, x: Any, draws: _Draws, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def predict_counted(
        self, x: Any, counted: NDArray[np.uint8], n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def apply(
        self, x: Any, n_threads: int = 1, rows: tuple[int, int] | None = None
    ) -> NDArray[np.int64]: ...
    def nearest(
        self, x: Any, others: Any, k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def decision_path(self, x: Any, n_threads: int = 1) -> tuple[Any, NDArray[np.int64]]: ...

@final
class LazyForest:
    def with_n_trees(self, n_trees: int) -> LazyForest: ...
    def __new__(cls, x: Any, task: _Task) -> LazyForest: ...
    def __reduce__(self) -> tuple[type[LazyForest], tuple[Any, ...]]: ...
    def __len__(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def max_features(self) -> int: ...
    def check_traversal(self, traversal: str) -> None: ...
    def predict(
        self,
        x: Any,
        traversal: str = "auto",
        n_threads: int = 1,
        watcher: Callable[[int], Any] | None = None,
    ) -> NDArray[np.float64]: ...
    def quantiles(
        self,
        x: Any,
        quantiles: NDArray[np.float64],
        interpolation: str = "linear",
        traversal: str = "auto",
        n_threads: int = 1,
        watcher: Callable[[int], Any] | None = None,
    ) -> NDArray[np.float64]: ...
    def curves(
        self,
        x: Any,
        at: NDArray[np.float64],
        curve: str | int,
        traversal: str = "auto",
        n_threads: int = 1,
        watcher: Callable[[int], Any] | None = None,
    ) -> NDArray[np.float64]: ...
    def explore(
        self,
        x: Any,
        traversal: str = "auto",
        weights: bool = False,
        n_threads: int = 1,
        watcher: Callable[[int], Any] | None = None,
    ) -> tuple[
        NDArray[np.float64],
        tuple[int, int, int],
        NDArray[np.int64],
        tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]] | None,
    ]: ...

@final
class Rounds:
    def __new__(
        cls,
        x: Any,
        task: _Task,
        loss: tuple[str, float],
        way: tuple[float, float | None, int | None, float],
        start: NDArray[np.float64],
        sums: NDArray[np.float64],
        trees: Forest | None = None,
    ) -> Rounds: ...
    @property
    def max_features(self) -> int: ...
    @property
    def with_missing(self) -> NDArray[np.int64]: ...
    @property
    def delta(self) -> float: ...
    def advance(
        self,
        seeds: NDArray[np.uint64],
        uniform: NDArray[np.float64] | None = None,
        n_in_bag: int = 0,
        has_losses: bool = True,
        watcher: Callable[[int], None] | None = None,
    ) -> NDArray[np.float64]: ...
    def take_trees(self) -> Forest: ...

@final
class Tree:
    def __new__(
        cls,
        n_features: int,
        n_classes: list[int],
        children_left: NDArray[np.int32],
        children_right: NDArray[np.int32],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        missing_go_to_left: NDArray[np.uint8],
        impurity: NDArray[np.float64],
        n_node_samples: NDArray[np.int64],
        weighted_n_node_samples: NDArray[np.float64],
        value: NDArray[np.float64],
        n_categories: NDArray[np.uint32] | None = None,
        category_words: NDArray[np.uint64] | None = None,
    ) -> Tree: ...
    @property
    def forest(self) -> Forest: ...
    def with_values(self, value: NDArray[np.float64]) -> Tree: ...
    def with_copies(self) -> Tree: ...
    def __reduce__(self) -> tuple[Any, tuple[int, list[NDArray[np.uint8]]]]: ...
    def __deepcopy__(self, _memo: Any) -> Tree: ...
    @property
    def children_left(self) -> NDArray[np.int64]: ...
    @property
    def children_right(self) -> NDArray[np.int64]: ...
    @property
    def feature(self) -> NDArray[np.int64]: ...
    @property
    def threshold(self) -> NDArray[np.float64]: ...
    @property
    def missing_go_to_left(self) -> NDArray[np.uint8]: ...
    @property
    def impurity(self) -> NDArray[np.float64]: ...
    @property
    def n_node_samples(self) -> NDArray[np.int64]: ...
    @property
    def weighted_n_node_samples(self) -> NDArray[np.float64]: ...
    @property
    def value(self) -> NDArray[np.float64]: ...
    @property
    def node_count(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def max_n_classes(self) -> int: ...
    @property
    def n_categories(self) -> NDArray[np.int64]: ...
    def category_set(self, node: int) -> tuple[NDArray[np.int64], bool]: ...
    def category_sets(self, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]: ...
    def cost_complexity_path(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, x: Any, n_threads: int = 1) -> NDArray[np.float64]: ...
    def apply(self, x: Any, n_threads: int = 1) -> NDArray[np.int64]: ...
    def decision_path(self, x: Any, n_threads: int = 1) -> Any: ...
