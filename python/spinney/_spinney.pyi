from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Forest",
    "LazyForest",
    "Tree",
    "__version__",
    "check_sparse",
    "draw_rows",
    "fit_forest",
    "fit_tree",
    "predict_folds",
]

__version__: str

def check_sparse(x: Any) -> None: ...
def draw_rows(draws: Any, seeds: list[int], n_threads: int = 1) -> list[NDArray[np.uint32]]: ...
def fit_forest(
    x: Any,
    y: NDArray[np.uint32] | NDArray[np.float64],
    n_classes: list[int] | None,
    draws: Any,
    balanced_subsample: bool,
    estimator: str,
    params: dict[str, Any],
    seed: int,
    first_tree: int,
    n_trees: int,
    n_threads: int,
    watcher: Callable[[int], Any] | None = None,
    n_categories: list[int] | None = None,
) -> tuple[Forest, int, NDArray[np.int64]]: ...
def fit_tree(
    x: Any,
    y: NDArray[np.uint32] | NDArray[np.float64],
    n_classes: list[int] | None,
    sample_weight: NDArray[np.float64] | None,
    estimator: str,
    params: dict[str, Any],
    seed: int,
    n_threads: int,
    n_categories: list[int] | None = None,
) -> tuple[Tree, int, NDArray[np.int64]]: ...
def predict_folds(
    x: Any,
    y: NDArray[np.uint32] | NDArray[np.float64],
    n_classes: list[int] | None,
    folds: list[tuple[NDArray[np.uint32], NDArray[np.uint32], Any]],
    sample_ids: NDArray[np.uint64] | None,
    balanced_subsample: bool,
    estimator: str,
    params: dict[str, Any],
    seed: int,
    n_trees: int,
    is_tree: bool,
    n_threads: int,
    watcher: Callable[[int], Any] | None = None,
    n_categories: list[int] | None = None,
) -> list[NDArray[np.float64]]: ...

@final
class Forest:
    def __new__(cls, trees: list[Tree], seeds: list[int]) -> Forest: ...
    def __reduce__(self) -> tuple[type[Forest], tuple[Any, ...]]: ...
    def __len__(self) -> int: ...
    def tree(self, index: int) -> Tree: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def node_counts(self) -> NDArray[np.int64]: ...
    def extended(self, other: Forest) -> Forest: ...
    def compute_feature_importances(self) -> NDArray[np.float64]: ...
    def predict(self, x: Any, n_threads: int = 1) -> NDArray[np.float64]: ...
    def predict_oob(
        self, x: Any, draws: Any, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint32]]: ...
    def apply(self, x: Any, n_threads: int = 1) -> NDArray[np.int64]: ...
    def decision_path(self, x: Any, n_threads: int = 1) -> tuple[Any, NDArray[np.int64]]: ...

@final
class LazyForest:
    def __new__(
        cls,
        x: Any,
        y: NDArray[np.uint32] | NDArray[np.float64],
        n_classes: list[int] | None,
        draws: Any,
        balanced_subsample: bool,
        estimator: str,
        params: dict[str, Any],
        seed: int,
        n_trees: int,
        n_categories: list[int] | None = None,
        n_threads: int = 1,
    ) -> LazyForest: ...
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
    def __reduce__(self) -> tuple[type[Tree], tuple[Any, ...]]: ...
    @property
    def children_left(self) -> NDArray[np.int32]: ...
    @property
    def children_right(self) -> NDArray[np.int32]: ...
    @property
    def feature(self) -> NDArray[np.int32]: ...
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
    def categories_left(self, node: int) -> NDArray[np.int64]: ...
    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]: ...
    def cost_complexity_path(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(self, x: Any, n_threads: int = 1) -> NDArray[np.float64]: ...
    def apply(self, x: Any, n_threads: int = 1) -> NDArray[np.int64]: ...
    def decision_path(self, x: Any, n_threads: int = 1) -> Any: ...
