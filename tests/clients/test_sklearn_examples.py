"""scikit-learn's own examples, with the names of its modules of trees and forests replaced by ours.

The environment variable SKLEARN_EXAMPLES names the folder `examples` of a source distribution of
scikit-learn (its wheel has none). Names that we do not have stay scikit-learn's:
AdaBoostClassifier, AdaBoostRegressor, BaggingRegressor, GradientBoostingClassifier,
GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor,
StackingClassifier, StackingRegressor, VotingRegressor.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spinney

FOLDER = os.environ.get("SKLEARN_EXAMPLES")
# Those of scikit-learn 1.9 that use a tree or forest that we have.
EXAMPLES = [
    "applications/plot_prediction_latency.py",
    "calibration/plot_calibration_multiclass.py",
    "calibration/plot_compare_calibration.py",
    "classification/plot_classifier_comparison.py",
    "cluster/plot_inductive_clustering.py",
    "ensemble/plot_adaboost_multiclass.py",
    "ensemble/plot_adaboost_regression.py",
    "ensemble/plot_adaboost_twoclass.py",
    "ensemble/plot_bias_variance.py",
    "ensemble/plot_ensemble_oob.py",
    "ensemble/plot_feature_transformation.py",
    "ensemble/plot_forest_hist_grad_boosting_comparison.py",
    "ensemble/plot_forest_importances.py",
    "ensemble/plot_forest_iris.py",
    "ensemble/plot_isolation_forest.py",
    "ensemble/plot_random_forest_embedding.py",
    "ensemble/plot_random_forest_regression_multioutput.py",
    "ensemble/plot_voting_regressor.py",
    "impute/plot_iterative_imputer_variants_comparison.py",
    "impute/plot_missing_values.py",
    "inspection/plot_partial_dependence_visualization_api.py",
    "inspection/plot_permutation_importance.py",
    "inspection/plot_permutation_importance_multicollinear.py",
    "manifold/plot_lle_digits.py",
    "miscellaneous/plot_anomaly_comparison.py",
    "miscellaneous/plot_multioutput_face_completion.py",
    "miscellaneous/plot_outlier_detection_bench.py",
    "miscellaneous/plot_pipeline_display.py",
    "miscellaneous/plot_roc_curve_visualization_api.py",
    "model_selection/plot_det.py",
    "model_selection/plot_multi_metric_evaluation.py",
    "model_selection/plot_successive_halving_iterations.py",
    "multiclass/plot_multiclass_overview.py",
    "preprocessing/plot_discretization.py",
    "release_highlights/plot_release_highlights_0_22_0.py",
    "release_highlights/plot_release_highlights_0_24_0.py",
    "release_highlights/plot_release_highlights_1_3_0.py",
    "release_highlights/plot_release_highlights_1_4_0.py",
    "release_highlights/plot_release_highlights_1_6_0.py",
    "release_highlights/plot_release_highlights_1_8_0.py",
    "text/plot_document_classification_20newsgroups.py",
    "tree/plot_cost_complexity_pruning.py",
    "tree/plot_iris_dtc.py",
    "tree/plot_tree_regression.py",
    "tree/plot_unveil_tree_structure.py",
]
OURS = {name: set(getattr(spinney, name).__all__) for name in ("tree", "ensemble")}

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="SKLEARN_EXAMPLES names no folder of scikit-learn's examples"
)


def replace(match):
    """Return the import of names from our module, and of the others from scikit-learn's."""
    module, names = match[1], re.findall(r"\w+(?: as \w+)?", match[2])
    ours = [name for name in names if name.split()[0] in OURS[module]]
    others = [name for name in names if name not in ours]
    lines = [(f"spinney.{module}", ours), (f"sklearn.{module}", others)]
    return "\n".join(f"from {origin} import {', '.join(of)}" for origin, of in lines if of)


def change_imports(source):
    """Return an example with our names in the place of scikit-learn's."""
    source = re.sub(r"from sklearn\.(tree|ensemble) import (\([^)]*\)|[^\n]*)", replace, source)
    for module, ours in OURS.items():
        if set(re.findall(rf"\b{module}\.(\w+)", source)) <= ours:
            source = re.sub(
                rf"from sklearn import {module}\b", f"from spinney import {module}", source
            )
    return source


def test_the_list_is_whole():
    """An example that is not listed uses no name of ours."""
    for path in Path(FOLDER).rglob("*.py"):
        if str(path.relative_to(FOLDER)) not in EXAMPLES:
            source = path.read_text(encoding="utf-8")
            assert "from spinney" not in change_imports(source), path


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs(name, tmp_path):
    source = (Path(FOLDER) / name).read_text(encoding="utf-8")
    if "fetch_" in source and "SPINNEY_DOCS_ONLINE" not in os.environ:
        pytest.skip("the example loads data from the network")
    for package in re.findall(r"^import (seaborn|polars)", source, re.MULTILINE):
        pytest.importorskip(package)
    program = tmp_path / "example.py"
    program.write_text(change_imports(source), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
