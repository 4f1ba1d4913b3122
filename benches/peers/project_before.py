"""House prices with scikit-learn: categories become columns, and holes are filled."""

import joblib
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

GRID = {
    "randomforestregressor__max_features": [0.2, 0.5],
    "randomforestregressor__min_samples_leaf": [1, 3],
}


def make_encoder(houses):
    """Return what makes numbers of the categories, the holes and the listings."""
    categories = list(houses.drop(columns="listing").select_dtypes(exclude="number"))
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories),
        (
            SimpleImputer(strategy="median", add_indicator=True),
            list(houses.select_dtypes("number")),
        ),
        (TfidfVectorizer(ngram_range=(1, 2), min_df=5), "listing"),
        sparse_threshold=0,
    )


def search(houses, prices, n_trees=100):
    """Return the search, whose best model is fitted to all houses."""
    model = make_pipeline(make_encoder(houses), RandomForestRegressor(n_trees, random_state=0))
    return GridSearchCV(model, GRID, cv=3).fit(houses, prices)


def predict(model, houses):
    return model.predict(houses)


def find_intervals(houses, prices, held_out, n_trees=100):
    """Return bounds between which nine of ten prices should be: two models of quantiles."""
    bounds = []
    for quantile in (0.05, 0.95):
        boosting = HistGradientBoostingRegressor(
            loss="quantile", quantile=quantile, max_iter=n_trees, random_state=0
        )
        model = make_pipeline(make_encoder(houses), boosting).fit(houses, prices)
        bounds.append(model.predict(held_out))
    return bounds


def find_importances(model, houses, prices, n_repeats=5):
    """Return what R2 loses on held-out houses if a column is permuted."""
    found = permutation_importance(model, houses, prices, n_repeats=n_repeats, random_state=0)
    return pd.Series(found.importances_mean, houses.columns)


def explain(model, house):
    """Return what the encoded columns add to the price of a house, the largest first."""
    import shap

    encoder, forest = model
    values = shap.TreeExplainer(forest).shap_values(encoder.transform(house))
    added = pd.Series(values[0], encoder.get_feature_names_out())
    return added.sort_values(key=abs, ascending=False)


def find_effect(houses, prices, n_trees=400):
    """Return what a wooden deck adds to the price on average, and the standard error."""
    from econml.dml import CausalForestDML

    deck, others = houses["Wood Deck SF"] > 0, houses.drop(columns="Wood Deck SF")
    settings = {"max_features": 0.2, "min_samples_leaf": 5, "random_state": 0}
    forest = CausalForestDML(
        model_y=RandomForestRegressor(**settings),
        model_t=RandomForestClassifier(**settings),
        discrete_treatment=True,
        n_estimators=n_trees,
        random_state=0,
    )
    forest.fit(prices, deck, X=make_encoder(others).fit_transform(others))
    return forest.ate_[0], forest.ate_stderr_[0]


def save(model, folder):
    joblib.dump(model, folder / "prices.joblib")


def load(folder):
    return joblib.load(folder / "prices.joblib")
