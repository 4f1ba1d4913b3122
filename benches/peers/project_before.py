"""House prices with scikit-learn: categories become columns, and holes are filled."""

import joblib
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
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


def search(houses, prices, n_trees=100):
    """Return the search, whose best model is fitted to all houses."""
    categories = list(houses.drop(columns="listing").select_dtypes(exclude="number"))
    numbers = list(houses.select_dtypes("number"))
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories),
        (SimpleImputer(strategy="median", add_indicator=True), numbers),
        (TfidfVectorizer(ngram_range=(1, 2), min_df=5), "listing"),
        sparse_threshold=0,
    )
    model = make_pipeline(encoder, RandomForestRegressor(n_trees, random_state=0))
    return GridSearchCV(model, GRID, cv=3).fit(houses, prices)


def predict(model, houses):
    return model.predict(houses)


def find_importances(model, houses, prices, n_repeats=5):
    """Return what R2 loses on held-out houses if a column is permuted."""
    found = permutation_importance(model, houses, prices, n_repeats=n_repeats, random_state=0)
    return pd.Series(found.importances_mean, houses.columns)


def save(model, folder):
    joblib.dump(model, folder / "prices.joblib")


def load(folder):
    return joblib.load(folder / "prices.joblib")
