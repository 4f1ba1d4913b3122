"""A plugin of pytest: names of other packages stand for our classes.

They are scikit-learn's, or those of the package that `REDIRECT_PACKAGE` names.
`python -m pytest -p redirect --pyargs sklearn.tree.tests.test_tree` runs its tests on them. The
outcomes are written as JSON to the file that the environment variable REDIRECT_OUTCOMES names.
"""

import json
import os
from pathlib import Path

import numpy as np
import sklearn.ensemble
import sklearn.tree

import spinney

TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)
FORESTS = (
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
)
replaced = [(sklearn.tree, TREES), (sklearn.ensemble, FORESTS)]
package = os.environ.get("REDIRECT_PACKAGE")
if package == "imblearn":
    # Its own classes are made of scikit-learn's.
    import imblearn.ensemble

    replaced = [(imblearn.ensemble, ["BalancedRandomForestClassifier"])]
if package == "sksurv":
    import sksurv.ensemble
    import sksurv.tree

    import spinney.survival

    for module, name in (
        (sksurv.tree, "SurvivalTree"),
        (sksurv.ensemble, "RandomSurvivalForest"),
        (sksurv.ensemble, "ExtraSurvivalTrees"),
    ):
        setattr(module, name, getattr(spinney.survival, name))
if package == "quantile_forest":
    import quantile_forest

    names = ["RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"]
    replaced = [(quantile_forest, names)]
for module, names in replaced:
    for name in names:
        setattr(module, name, getattr(spinney, name))
if package == "mapie":
    # Scikit-learn's forests are replaced as well: MAPIE is given ours.
    import mapie.classification
    import mapie.regression.regression

    import spinney.conformal

    for module, name in (
        (mapie.regression.regression, "CrossConformalRegressor"),
        (mapie.regression.regression, "JackknifeAfterBootstrapRegressor"),
        (mapie.classification, "CrossConformalClassifier"),
    ):
        setattr(module, name, getattr(spinney.conformal, name))

outcomes = {}


def pytest_runtest_setup():
    """Some tests draw from NumPy's global stream: it is the same at every run."""
    np.random.seed(0)  # noqa: NPY002


def pytest_runtest_logreport(report):
    """Remember the outcome of a test."""
    if report.when == "call" or not report.passed:
        name = report.nodeid.partition("::")[2]
        outcomes[name] = [report.outcome, str(report.longrepr)[-2000:] if report.failed else ""]


def pytest_sessionfinish():
    """Write the outcomes."""
    Path(os.environ["REDIRECT_OUTCOMES"]).write_text(json.dumps(outcomes))
