"""When an event will happen: trees and forests for times that may be censored."""

from spinney._fit.survival import Concordance, concordance_index, kaplan_meier_estimator
from spinney.survival._boosting import GradientBoostingSurvival
from spinney.survival._forest import ExtraSurvivalTrees, RandomSurvivalForest
from spinney.survival._lazy import LazySurvivalForest
from spinney.survival._scorers import make_survival_scorer
from spinney.survival._scores import (
    brier_score,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from spinney.survival._step_function import StepFunction
from spinney.survival._tree import SurvivalTree

__all__ = [
    "Concordance",
    "ExtraSurvivalTrees",
    "GradientBoostingSurvival",
    "LazySurvivalForest",
    "RandomSurvivalForest",
    "StepFunction",
    "SurvivalTree",
    "brier_score",
    "concordance_index",
    "concordance_index_ipcw",
    "cumulative_dynamic_auc",
    "integrated_brier_score",
    "kaplan_meier_estimator",
    "make_survival_scorer",
]
