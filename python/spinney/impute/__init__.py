"""Filling missing values."""

from spinney.impute._miss_forest import MissForestImputer

__all__ = ["MissForestImputer"]
