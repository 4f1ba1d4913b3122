"""The parameters of the estimators: how `__init__` stores them, and which of them a tree has."""

from __future__ import annotations

from dataclasses import Field, field, make_dataclass
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, TypeVar

from spinney._common.messages import warn_caller

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    # Type checkers alone read this mark, and Python 3.10 does not have it.
    def dataclass_transform(**_):
        return lambda function: function


_Class = TypeVar("_Class", bound=type[Any])

# What the compiled part reads to grow a tree, whatever the estimator. All other parameters of
# estimators are read in Python.
TREE_PARAMETERS = frozenset(
    {
        "category_order",
        "ccp_alpha",
        "criterion",
        "feature_sampling",
        "interaction_cst",
        "max_depth",
        "max_features",
        "max_leaf_nodes",
        "min_events_leaf",
        "min_impurity_decrease",
        "min_samples_category",
        "min_samples_leaf",
        "min_samples_split",
        "min_weight_fraction_leaf",
        "monotonic_cst",
        "quantile",
        "splitter",
    }
)
# Those that only some of the estimators have.
_OF_SOME = frozenset({"category_order", "min_events_leaf", "quantile", "splitter"})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(kind: _Class) -> _Class:
    """Give a class the `__init__` of a dataclass, which stores its parameters as attributes.

    The parameters are the annotated names with a default, but for private ones, of the class and of
    those of its bases that are decorated, too. All are keywords, except `field(kw_only=False)`, and
    `field(init=False)` drops the parameter of a base. The class itself is no dataclass, because
    some libraries take these apart and rebuild them from their fields, without what `fit` has
    learned; and it does not keep the defaults as attributes.
    """
    own = {
        name: (name, annotation, vars(kind)[name])
        for name, annotation in get_annotations(kind).items()
        if name in vars(kind) and not name.startswith("_")
    }
    for name in own:
        delattr(kind, name)
    kind._own_parameters = own
    found: dict[str, tuple[str, Any, Any]] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get("_own_parameters", {})
    fields = [entry for entry in found.values() if not isinstance(entry[2], Field) or entry[2].init]
    # It calls `__post_init__` if the class has one.
    namespace = {name: None for name in ["__post_init__"] if hasattr(kind, name)}
    made = make_dataclass(
        kind.__name__, fields, namespace={"__module__": __name__} | namespace, kw_only=True
    )
    initialize: Any = vars(made)["__init__"]
    initialize.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = initialize
    return kind


def store_parameters(arguments: dict[str, Any]) -> None:
    """Store the arguments of an `__init__` as attributes, unchanged, as scikit-learn requires.

    Parameters
    ----------
    arguments : dict
        The `locals()` of `__init__` before anything else is assigned.
    """
    estimator = arguments["self"]
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)


def read_tree_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that trees are grown by, from the attributes of an estimator.

    As in scikit-learn they are not parameters of the `__init__` of every subclass.

    Raises
    ------
    AttributeError
        If the `__init__` of a subclass has not set a parameter.
    """
    names = sorted(TREE_PARAMETERS - _OF_SOME)
    names += [name for name in sorted(_OF_SOME) if hasattr(estimator, name)]
    return {name: getattr(estimator, name) for name in names}


def replace_friedman_mse(criterion: Any) -> Any:
    """Return the criterion; warn, as scikit-learn does, and replace it, if it is deprecated."""
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warn_caller(
        "criterion='friedman_mse' is deprecated, as in scikit-learn. It is the same as "
        "'squared_error'; use this name to remove the warning.",
        FutureWarning,
    )
    return "squared_error"
