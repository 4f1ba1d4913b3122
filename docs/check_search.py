"""Ask the search of the built site everyday questions: `python docs/check_search.py dist/site`.

The site's own scripts answer, those that its page "Search" loads, in V8 without a browser. Each
question must find one of its pages first or second. `make docs` runs this.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from py_mini_racer import MiniRacer

API = "api/generated/spinney"
# What people type, and the pages that answer it.
QUESTIONS = {
    "install": ("start",),
    "first forest": ("start",),
    "n_jobs threads": ("start", "inside"),
    "random forest or xgboost": ("which-forest",),
    "catboost": ("which-forest",),
    "text classification": ("sparse", "gallery"),
    "tf-idf": ("sparse",),
    "missing values sparse": ("sparse", "categories"),
    "fingerprints": ("sparse", "gallery"),
    "csr or csc": ("sparse",),
    "NaN": ("categories",),
    "categorical features": ("categories",),
    "string columns": ("categories",),
    "unseen categories": ("categories",),
    "save model": ("deployment", "model-files"),
    "load model": ("deployment", "model-files"),
    "pickle": ("deployment", "migration"),
    "serve model http": ("deployment",),
    "speed up leave one out": ("cross-validation",),
    "k-fold": ("cross-validation",),
    "cross_val_score": ("cross-validation", f"{API}.model_selection.cross_val_score"),
    "median": ("quantiles",),
    "prediction interval": ("uncertainty", "quantiles"),
    "grid search": ("datasets",),
    "larger than memory": ("datasets",),
    "parquet": ("datasets",),
    "several machines": ("clusters",),
    "shap values": ("explaining", "conversions"),
    "feature importance": ("explaining",),
    "onnx": ("conversions",),
    "reproducible results": ("why-exact",),
    "coming from scikit-learn": ("coming-from", "differences"),
    "ranger mtry": ("coming-from",),
    "lazy forest": ("lazy",),
    "faster than scikit-learn": ("benchmarks",),
    "benchmarks": ("benchmarks",),
    "partial dependence": ("explaining", f"{API}.inspection.partial_dependence"),
    "plot tree": (f"{API}.plot_tree", "explaining"),
    "new criterion": ("add-a-criterion",),
    # As people ask in public.
    "random forest too big to pickle": ("deployment",),
    "save random forest model to file": ("deployment",),
    "handle categorical features random forest without one hot": ("categories",),
    "could not convert string to float": ("categories", "errors"),
    "random forest missing values": ("categories",),
    "random forest memory error sparse matrix": ("sparse",),
    "out of bag score": ("samples",),
    "group bootstrap random forest": ("samples",),
    "class imbalance random forest": ("rare-classes",),
    "prediction interval random forest": ("uncertainty",),
    "quantile regression forest python": ("quantiles",),
    "leave one out cross validation slow": ("cross-validation",),
    "grid search slow": ("datasets",),
    "random forest different results every run": ("why-exact",),
    "feature importance random forest": ("explaining",),
    "random forest proximity matrix": ("explaining",),
    "convert random forest to onnx": ("conversions",),
    "isolation forest outlier detection": ("anomalies",),
    "survival analysis random forest python": ("survival",),
    "impute missing values categorical": ("imputation",),
    "feature selection boruta": ("boruta",),
    "random forest production": ("deployment",),
    "supported python versions": ("versions",),
    "deprecation policy": ("versions",),
    "release notes": ("release-notes",),
    # On boosting, causes, survival and quantiles.
    "gradient boosting early stopping best number of trees": ("boosting",),
    "learning rate and number of trees": ("boosting",),
    "gradient boosting categorical features": ("boosting", "categories"),
    "histgradientboosting sparse matrix": ("boosting",),
    "monotonic constraints gradient boosting": ("boosting",),
    "poisson loss count data": ("boosting",),
    "random forest vs gradient boosting": ("which-forest",),
    "lightgbm parameters": ("coming-from", "boosting"),
    "heterogeneous treatment effect": ("causal",),
    "average treatment effect confidence interval": ("causal",),
    "causal forest wide confidence interval": ("causal",),
    "uplift model": ("causal",),
    "instrumental variable": ("causal",),
    "unobserved confounder": ("causal",),
    "how to interpret survival forest predict output": ("survival",),
    "predict time to event": ("survival",),
    "competing risks cumulative incidence": ("survival",),
    "customer churn": ("survival",),
    "quantile crossing": ("boosting", "quantiles"),
    "quantile loss gradient boosting prediction interval": ("boosting", "which-forest"),
    "predict median instead of mean": ("quantiles",),
    "group k fold patients": ("validation", "samples"),
    "time series split": ("validation",),
    "data leakage": ("validation",),
    "random forest hyperparameter tuning": ("tuning",),
}
ALLOWED_RANK = 2
# What the scripts expect of a browser and a search does not use.
BROWSER = """
var window = globalThis, nothing = { hasChildNodes: () => false, lastChild: null };
var localStorage = { getItem: () => null, setItem: () => {} };
var document = {
  readyState: "loading", addEventListener: () => {}, getElementById: () => nothing,
  documentElement: { dataset: {} }, head: nothing, body: nothing,
};
"""
ASK = """
(query => JSON.stringify(
  Search._performSearch(...Search._parseQuery(query)).reverse().map(result => result[0])
))(%s)
"""


def read_scripts(site: Path) -> list[str]:
    """Return what the page "Search" runs, in its order, without what only draws the theme."""
    page = (site / "search.html").read_text(encoding="utf-8")
    names = re.findall(r'<script src="([^"?]+)', page)
    return [(site / name).read_text(encoding="utf-8") for name in names if "furo" not in name]


def find_pages(engine: MiniRacer, query: str) -> list[str]:
    """Return the pages that a search finds, best first, each once."""
    return list(dict.fromkeys(json.loads(engine.eval(ASK % json.dumps(query)))))


def main(site: Path) -> int:
    engine = MiniRacer()
    engine.eval("\n".join([BROWSER, *read_scripts(site)]))
    failed = 0
    for query, wanted in QUESTIONS.items():
        found = find_pages(engine, query)
        if not set(found[:ALLOWED_RANK]) & set(wanted):
            failed += 1
            print(f"{query!r} finds {found[:4]}, not one of {list(wanted)} in the first two")
    if failed:
        print(f"error: {failed} of {len(QUESTIONS)} questions do not find their pages")
        return 1
    print(f"{len(QUESTIONS)} questions find their pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
