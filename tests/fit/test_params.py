"""`with_parameters`: an `__init__` made of annotated names, as of a dataclass, of no dataclass."""

import inspect
import pickle
from dataclasses import field, is_dataclass

import pytest
from sklearn.base import clone

import spinney
from spinney._fit.params import with_parameters


@with_parameters
class Shared:
    """A group of parameters."""

    n_estimators: int = field(default=10, kw_only=False)
    depth: int = 3
    order: str = "auto"


class Base:
    """What is not decorated has no parameters."""

    fitted_: int
    shown: bool = True


@with_parameters
class Model(Base, Shared):
    """A class with one parameter of its own, another default, and without one of the group."""

    _private: int = 1
    depth: int = 5
    order: str = field(init=False)
    seed: int = 0

    def __post_init__(self):
        self.seed = abs(self.seed)


def test_bases_give_parameters_and_the_class_changes_them():
    """The order is that of the bases, from the last one on."""
    assert (
        str(inspect.signature(Model))
        == "(n_estimators: int = 10, *, depth: int = 5, seed: int = 0) -> None"
    )
    assert vars(Model(7, seed=-2)) == {"n_estimators": 7, "depth": 5, "seed": 2}


def test_the_class_has_no_defaults_as_attributes():
    """An estimator whose `__init__` has not run has no parameters, as if it were written out."""
    made = Model.__new__(Model)
    assert not any(hasattr(made, name) for name in ("n_estimators", "depth", "order", "seed"))
    assert made._private == 1
    assert made.shown


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [((1, 2), {}, "takes from 1 to 2 positional arguments"), ((), {"dept": 1}, "'dept'")],
)
def test_wrong_arguments_are_refused_by_name_of_the_class(arguments, named, message):
    """As by any function."""
    with pytest.raises(TypeError, match=rf"Model\.__init__\(\) .*{message}"):
        Model(*arguments, **named)


def test_estimators_are_no_dataclasses():
    """Dask would compare two of them by their parameters alone, not by what they have learned."""
    forest = spinney.RandomForestRegressor(5, criterion="poisson")
    assert not is_dataclass(forest)
    for copy in (clone(forest), pickle.loads(pickle.dumps(forest))):
        assert copy.get_params() == forest.get_params()
