"""House prices with Spinney: categories and holes stay as they are, the table is encoded once."""

import joblib
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV

import spinney
from spinney.causal import CausalForest
from spinney.conformal import ConformalizedQuantileRegressor

GRID = {"max_features": [0.2, 0.5], "min_samples_leaf": [1, 3]}


def encode(houses):
    """Return the words of the listings, and all columns as a data set."""
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=5).fit(houses["listing"])
    return words, make_dataset(houses, words)


def make_dataset(houses, words):
    categories = list(houses.drop(columns="listing").select_dtypes(exclude="number"))
    return spinney.Dataset(add_words(houses, words), categorical_features=categories)


def add_words(houses, words):
    """Return the houses with a column for each word in place of the listing."""
    matrix = words.transform(houses["listing"]).toarray()
    columns = pd.DataFrame(matrix, houses.index, words.get_feature_names_out())
    return houses.drop(columns="listing").join(columns)


def search(dataset, prices, n_trees=100):
    """Return the search, whose best forest is fitted to all houses."""
    forest = spinney.RandomForestRegressor(n_trees, random_state=0)
    return GridSearchCV(forest, GRID, cv=3).fit(dataset, prices)


def predict(words, forest, houses):
    return forest.predict(add_words(houses, words))


def find_intervals(words, dataset, prices, held_out, n_trees=100):
    """Return bounds between which nine of ten prices should be: one forest of quantiles."""
    forest = spinney.RandomForestQuantileRegressor(n_trees, min_samples_leaf=5, random_state=0)
    model = ConformalizedQuantileRegressor(forest).fit_conformalize(dataset, prices)
    _, intervals = model.predict_interval(add_words(held_out, words))
    return intervals[:, 0, 0], intervals[:, 1, 0]


def find_importances(words, forest, dataset, prices, n_repeats=5):
    """Return what R2 loses out of bag if a column, or all words, are permuted."""
    listing = set(words.get_feature_names_out())
    columns = [name for name in forest.feature_names_in_ if name not in listing]
    groups = [*([name] for name in columns), list(listing)]
    found = forest.permutation_importance_oob(
        dataset, prices, n_repeats=n_repeats, groups=groups, scoring="r2", random_state=0
    )
    return pd.Series(found.importances_mean, [*columns, "listing"])


def explain(words, forest, house):
    """Return what the columns add to the price of a house: printed, it says so in words."""
    return forest.explain(add_words(house, words))


def find_effect(words, houses, prices, n_trees=400):
    """Return what a wooden deck adds to the price on average, and the standard error."""
    deck, others = houses["Wood Deck SF"] > 0, houses.drop(columns="Wood Deck SF")
    forest = CausalForest(n_trees, random_state=0).fit(make_dataset(others, words), deck, prices)
    return forest.average_treatment_effect()


def save(words, forest, folder):
    joblib.dump(words, folder / "words.joblib")
    forest.save(folder / "prices.spinney")


def load(folder):
    return joblib.load(folder / "words.joblib"), spinney.load(folder / "prices.spinney")
