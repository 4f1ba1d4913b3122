"""Categorical features: which order of the categories predicts best.

A node that orders categories by its own rows overfits if they are many and have few rows each. The
study compares the orders that Spinney has (`category_order`), and one that it does not have, with
what users do instead: ordinal codes, one-hot columns and scikit-learn's target encoding. The scores
(accuracy or R2) are paired over random splits. `categories.txt` has results of several runs.

    python benches/papers/categories.py

Needs the real data beside the repository; sets whose data are absent are said to be skipped.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

import spinney

try:
    import lightgbm
except ImportError:
    lightgbm = None

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
MISSING = "missing"
Set = tuple[pd.DataFrame, np.ndarray]


# --- Data ---------------------------------------------------------------------------------------


def csv(name: str, target: str, n_rows: int, *, drop: tuple[str, ...] = (), **options) -> Set:
    """Read some rows of a file; classes are coded."""
    frame = pd.read_csv(SHARED_DATA / name, low_memory=False, **options).dropna(subset=[target])
    frame = frame.sample(min(n_rows, len(frame)), random_state=0).reset_index(drop=True)
    y = frame.pop(target)
    known = y.to_numpy(float) if y.dtype.kind == "f" else pd.factorize(y, sort=True)[0]
    return frame.drop(columns=list(drop)), known


def numbers(loaded: Set) -> Set:
    """Take classes that are numbers for numbers, on a logarithmic scale."""
    return loaded[0], np.log1p(loaded[1].astype(float))


def indicators(frame: pd.DataFrame, prefixes: list[str], separator: str) -> pd.DataFrame:
    """Join columns of zeros and ones of a common prefix back into one of categories."""
    joined = {}
    for prefix in prefixes:
        columns = [name for name in frame if str(name).startswith(prefix + separator)]
        joined[prefix] = frame[columns].to_numpy().argmax(axis=1).astype(str)
    others = [name for name in frame if str(name).split(separator)[0] not in prefixes]
    return pd.concat([frame[others], pd.DataFrame(joined)], axis=1)


def mushrooms() -> Set:
    X = scipy.sparse.load_npz(SHARED_DATA / "agaricus.npz").toarray()
    meta = np.load(SHARED_DATA / "agaricus_meta.npz")
    names = [str(name) for name in meta["feature_names"]]
    prefixes = sorted({name.split("=")[0] for name in names})
    return indicators(pd.DataFrame(X, columns=names), prefixes, "="), meta["y"].astype(int)


def covertype(n_rows: int) -> Set:
    arrays = np.load(SHARED_DATA / "covertype.npz")
    rows = np.random.default_rng(0).permutation(len(arrays["y"]))[:n_rows]
    X = pd.DataFrame(arrays["X"][rows].astype(float))
    joined = X.iloc[:, :10].copy()
    joined["area"] = X.iloc[:, 10:14].to_numpy().argmax(axis=1).astype(str)
    joined["soil"] = X.iloc[:, 14:].to_numpy().argmax(axis=1).astype(str)
    return joined.rename(columns=str), pd.factorize(arrays["y"][rows], sort=True)[0]


KNOWN_LATER = ("dep_time", "arr_time", "air_time", "dep_delay", "time_hour")
# The file of each set, and how it is read.
REAL: dict[str, tuple[str, Callable[[], Set]]] = {
    "nycflights": (
        "nycflights13_joined.csv.gz",
        lambda: csv("nycflights13_joined.csv.gz", "arr_delay", 15_000, drop=KNOWN_LATER),
    ),
    "adult": (
        "adult_train.csv.gz",
        lambda: csv("adult_train.csv.gz", "income", 10_000, na_values="?"),
    ),
    "ames": (
        "ames_housing.csv.gz",
        lambda: numbers(csv("ames_housing.csv.gz", "SalePrice", 9999, drop=("Order", "PID"))),
    ),
    "diamonds": (
        "diamonds.csv.gz",
        lambda: numbers(csv("diamonds.csv.gz", "price", 10_000)),
    ),
    "kddcup99": (
        "kddcup99_10pct.csv.gz",
        lambda: csv("kddcup99_10pct.csv.gz", "label", 20_000),
    ),
    "splice": ("splice.csv.gz", lambda: csv("splice.csv.gz", "Class", 9999)),
    "mushrooms": ("agaricus.npz", mushrooms),
    "plant editing": (
        "plant_c2u_editing.csv.gz",
        lambda: csv("plant_c2u_editing.csv.gz", "edited", 10_000, drop=("editing_extent",)),
    ),
    "beijing air": (
        "beijing_air.csv.gz",
        lambda: csv("beijing_air.csv.gz", "PM2.5", 10_000),
    ),
    "covertype": ("covertype.npz", lambda: covertype(10_000)),
}


def synthetic(
    n_levels: int, effect: float, *, interacts: bool = False, n_rows: int = 20_000
) -> Set:
    """Five informative numbers, noise of variance 1, and a column of so many levels.

    The effects of the levels have the standard deviation `effect`. With `interacts`, a level has no
    effect of its own but a sign, by which the effect of a number is multiplied.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    level = rng.integers(0, n_levels, n_rows)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * X[:, 4] + rng.normal(size=n_rows)
    of_level = rng.permutation(n_levels) % 2 * 2.0 - 1 if interacts else rng.normal(size=n_levels)
    y += effect * of_level[level] * (X[:, 0] if interacts else 1)
    frame = pd.DataFrame(X, columns=list("abcde"))
    return frame.assign(level=np.char.add("level ", level.astype(str))), y


SYNTHETIC: dict[str, Callable[[], Set]] = {
    "noise, 20 levels": lambda: synthetic(20, 0.0),
    "noise, 200 levels": lambda: synthetic(200, 0.0),
    "noise, 2000 levels": lambda: synthetic(2000, 0.0),
    "weak, 500 levels": lambda: synthetic(500, 0.2),
    "strong, 500 levels": lambda: synthetic(500, 1.0),
    "strong, 20 levels": lambda: synthetic(20, 1.0),
    "sign, 20 levels": lambda: synthetic(20, 1.0, interacts=True),
    "sign, 200 levels": lambda: synthetic(200, 1.0, interacts=True),
}


# --- Contenders ---------------------------------------------------------------------------------


class Split:
    """A training and a test set in the forms that the contenders take."""

    def __init__(self, frame: pd.DataFrame, y: np.ndarray, seed: int) -> None:
        rows = np.random.default_rng(seed).permutation(len(y))
        self.names = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
        texts = frame[self.names].astype(object).where(frame[self.names].notna(), MISSING)
        frame = frame.assign(**{name: texts[name].astype(str) for name in self.names})
        self.train, self.test = np.split(rows, [len(y) * 3 // 4])
        self.frames = frame.iloc[self.train], frame.iloc[self.test]
        self.y, self.y_test = y[self.train], y[self.test]
        self.is_classification = y.dtype.kind == "i"
        others = [name for name in frame if name not in self.names]
        self.numbers = tuple(part[others].to_numpy(float) for part in self.frames)
        self.texts = tuple(part[self.names] for part in self.frames)
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        self.codes = encoder.fit_transform(self.texts[0]), encoder.transform(self.texts[1])
        self.categorical = list(range(len(others), frame.shape[1]))

    def beside(self, encoded) -> tuple[np.ndarray, np.ndarray]:
        """Join encoded categories and numbers; numbers come first."""
        return tuple(np.hstack(pair) for pair in zip(self.numbers, encoded, strict=True))

    def score(self, model, X, X_test) -> float:
        prediction = model.fit(X, self.y).predict(X_test)
        if self.is_classification:
            return float((prediction == self.y_test).mean())
        errors = ((prediction - self.y_test) ** 2).sum()
        return float(1 - errors / ((self.y_test - self.y_test.mean()) ** 2).sum())


def make(split: Split, kind: str, n_trees: int, **params):
    name = "Classifier" if split.is_classification else "Regressor"
    model = getattr(spinney, kind + name)
    params |= {"random_state": 0} | ({} if kind[-4:] == "Tree" else {"n_estimators": n_trees})
    return model(**params)


def native(kind: str, **params):
    """Spinney on categories, by this order."""

    def run(split: Split, n_trees: int) -> float:
        model = make(split, kind, n_trees, categorical_features=split.categorical or None, **params)
        return split.score(model, *split.beside(split.codes))

    return run


def ordinal(kind: str):
    return lambda split, n_trees: split.score(
        make(split, kind, n_trees), *split.beside(split.codes)
    )


def one_hot(kind: str):
    def run(split: Split, n_trees: int) -> float:
        encoder = OneHotEncoder(handle_unknown="ignore").fit(split.texts[0])
        pairs = zip(split.numbers, split.texts, strict=True)
        # A sparse matrix of scikit-learn's may hold no missing values next to stored zeros.
        X, X_test = (
            scipy.sparse.hstack([scipy.sparse.csr_matrix(part), encoder.transform(texts)]).tocsr()
            for part, texts in pairs
        )
        return split.score(make(split, kind, n_trees), X, X_test)

    return run


def target_encoded(kind: str):
    def run(split: Split, n_trees: int) -> float:
        encoder = TargetEncoder(cv=5)
        encoded = encoder.fit_transform(split.texts[0], split.y), encoder.transform(split.texts[1])
        return split.score(make(split, kind, n_trees), *split.beside(encoded))

    return run


def ordered_once(kind: str):
    """Levels ordered once for the whole forest, by all training rows, as ranger's `order` does."""

    def run(split: Split, n_trees: int) -> float:
        y = np.eye(split.y.max() + 1)[split.y] if split.is_classification else split.y[:, None]
        X, X_test = (codes.copy() for codes in split.codes)
        for column in range(X.shape[1]):
            means = pd.DataFrame(y).groupby(X[:, column]).mean().to_numpy()
            counts = np.bincount(X[:, column].astype(int))
            centred = means - np.average(means, axis=0, weights=counts)
            axis = np.linalg.svd(centred * np.sqrt(counts)[:, None], full_matrices=False)[2][0]
            places = (centred @ axis).argsort().argsort().astype(float)
            for codes in (X, X_test):
                known = ~np.isnan(codes[:, column])
                codes[known, column] = places[codes[known, column].astype(int)]
        return split.score(make(split, kind, n_trees), *split.beside((X, X_test)))

    return run


def lightgbm_forest():
    """LightGBM's random forest, whose nodes smooth categories (`cat_smooth`, `cat_l2`).

    Trees are as deep and draw as many features as ours; all else is its default.
    """

    def run(split: Split, n_trees: int) -> float:
        X, X_test = split.beside(split.codes)
        share = 1 / np.sqrt(X.shape[1]) if split.is_classification else 1.0
        model = getattr(
            lightgbm, "LGBM" + ("Classifier" if split.is_classification else "Regressor")
        )(
            boosting_type="rf",
            n_estimators=n_trees,
            num_leaves=1 << 14,
            min_child_samples=1,
            subsample=0.632,
            subsample_freq=1,
            feature_fraction_bynode=share,
            random_state=0,
            n_jobs=1,
            verbose=-1,
        )
        return split.score(model.set_params(categorical_feature=split.categorical), X, X_test)

    return run


CODES, ONE_HOT = "ordinal codes", "one-hot"
CONTENDERS = {
    "RandomForest": {
        "category_order='auto'": native("RandomForest"),
        "category_order='node'": native("RandomForest", category_order="node"),
        "  min_samples_category=10": native(
            "RandomForest", category_order="node", min_samples_category=10
        ),
        "  min_samples_category=100": native(
            "RandomForest", category_order="node", min_samples_category=100
        ),
        "category_order='tree'": native("RandomForest", category_order="tree"),
        "once, by all rows": ordered_once("RandomForest"),
        CODES: ordinal("RandomForest"),
        ONE_HOT: one_hot("RandomForest"),
        "target encoding": target_encoded("RandomForest"),
    },
    "ExtraTrees": {
        "categories": native("ExtraTrees"),
        CODES: ordinal("ExtraTrees"),
        ONE_HOT: one_hot("ExtraTrees"),
        "target encoding": target_encoded("ExtraTrees"),
    },
    "DecisionTree": {
        "category_order='auto'": native("DecisionTree"),
        "category_order='node'": native("DecisionTree", category_order="node"),
        "  min_samples_category=10": native("DecisionTree", min_samples_category=10),
        "  min_samples_category=100": native("DecisionTree", min_samples_category=100),
        "category_order='tree'": native("DecisionTree", category_order="tree"),
        "once, by all rows": ordered_once("DecisionTree"),
        CODES: ordinal("DecisionTree"),
        ONE_HOT: one_hot("DecisionTree"),
        "target encoding": target_encoded("DecisionTree"),
    },
}
if lightgbm is not None:
    CONTENDERS["RandomForest"]["LightGBM, rf"] = lightgbm_forest()


def paired(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.nan
    return f"{differences.mean():+9.4f} +- {error:.4f}"


def compare(name: str, data: Set, kind: str, arguments: argparse.Namespace) -> np.ndarray:
    """Print the scores on a set; return those of the default less the better of two."""
    frame, y = data
    levels = sorted(
        frame[c].nunique() for c in frame if not pd.api.types.is_numeric_dtype(frame[c])
    )
    print(f"\n{name}, {kind}: {frame.shape}, levels {levels[-6:]}", flush=True)
    contenders = CONTENDERS[kind]
    scores = {contender: [] for contender in contenders}
    seconds = dict.fromkeys(contenders, 0.0)
    for seed in range(arguments.seed, arguments.seed + arguments.splits):
        split = Split(frame, y, seed)
        for contender, run in contenders.items():
            begin = time.process_time()
            scores[contender].append(run(split, arguments.trees))
            seconds[contender] += time.process_time() - begin
    better = np.array(max(scores[CODES], scores[ONE_HOT], key=np.mean))
    print(f"  {'':28}{'score':>8}   less the better of codes and one-hot{'s':>7}")
    for contender, values in scores.items():
        difference = paired(np.array(values) - better)
        time_ = seconds[contender] / arguments.splits
        print(f"  {contender:28}{np.mean(values):8.4f}   {difference:36}{time_:7.2f}", flush=True)
    return np.array(scores[next(iter(contenders))]) - better


def without_noise(arguments: argparse.Namespace) -> None:
    """Score forests and trees with a column of noise, and the same without it."""
    print("\nA column of noise beside five informative ones: R2 with the column less R2 without")
    for kind, n_levels in itertools.product(("RandomForest", "DecisionTree"), (20, 200, 2000)):
        frame, y = synthetic(n_levels, 0.0)
        for order in ("auto", "node", "tree"):
            differences = []
            for seed in range(arguments.seed, arguments.seed + arguments.splits):
                run = native(kind, category_order=order)
                with_it = run(Split(frame, y, seed), arguments.trees)
                without = run(Split(frame.drop(columns="level"), y, seed), arguments.trees)
                differences.append(with_it - without)
            print(
                f"  {kind:13}{n_levels:5} levels, {order:5} {paired(np.array(differences))}",
                flush=True,
            )


def gini(counts: np.ndarray) -> np.ndarray:
    """Weight times Gini impurity of counts of classes in the last axis."""
    total = counts.sum(axis=-1)
    return total - (counts**2).sum(axis=-1) / np.maximum(total, 1)


def several_classes() -> None:
    """Count how often the orders of several classes miss the best of all subsets."""
    print("\nOne split of C categories, K classes: orders against exact search (200 draws each)")
    print(f"  {'C':>3}{'K':>4}{'rows':>6}{'missed':>9}{'mean loss':>11}{'largest loss':>14}")
    rng = np.random.default_rng(0)
    for n_levels, n_classes, n_rows in itertools.product((4, 8, 12), (3, 5, 10), (60, 600)):
        losses = []
        for _ in range(200):
            shares = rng.dirichlet(np.full(n_classes, 0.7), n_levels)
            level = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, n_rows)])
            y = np.array([rng.choice(n_classes, p=shares[at]) for at in level])
            tree = spinney.DecisionTreeClassifier(max_depth=1, categorical_features=[0])
            goes_left = tree.fit(level[:, None], y).apply(np.arange(n_levels)[:, None]) == 1
            counts = np.zeros((n_levels, n_classes))
            np.add.at(counts, (level, y), 1)
            subsets = np.arange(1, 2 ** (n_levels - 1))[:, None] >> np.arange(n_levels) & 1
            left = subsets @ counts
            best = (gini(left) + gini(counts.sum(axis=0) - left)).min()
            own = gini(counts[goes_left].sum(axis=0)) + gini(counts[~goes_left].sum(axis=0))
            losses.append((own - best) / (gini(counts.sum(axis=0)) - best))
        losses = np.array(losses)
        missed = (losses > 1e-9).mean()
        print(
            f"  {n_levels:3}{n_classes:4}{n_rows:6}{missed:9.1%}{losses.mean():11.2%}"
            f"{losses.max():14.2%}",
            flush=True,
        )


def importances(arguments: argparse.Namespace) -> None:
    """Importance of columns of noise, by their numbers of values: a permuted copy of each."""
    print("\nImportance of permuted copies of columns (5 informative numbers), in % of all")
    frame, y = synthetic(2000, 0.0)
    rng = np.random.default_rng(1)
    copies = {"number": rng.permutation(frame["a"].to_numpy())}
    for n_levels in (2, 10, 11, 32, 33, 200, 2000):
        copies[f"{n_levels} levels"] = rng.integers(0, n_levels, len(y)).astype(float)
    X = np.column_stack([frame.drop(columns="level").to_numpy(), *copies.values()])
    categorical = list(range(6, X.shape[1]))
    print(f"  {'':12}" + "".join(f"{name:>13}" for name in copies))
    for order in ("auto", "node", "tree"):
        forest = spinney.RandomForestRegressor(
            arguments.trees,
            random_state=0,
            categorical_features=categorical,
            category_order=order,
            max_features=1 / 3,
        )
        shares = forest.fit(X, y).feature_importances_[5:] * 100
        print(f"  {order:12}" + "".join(f"{share:13.2f}" for share in shares), flush=True)


def times(arguments: argparse.Namespace) -> None:
    """Time of a fit, categories against codes, least of some interleaved runs."""
    print("\nTime of a fit of a random forest on categories, divided by that on codes")
    ratios = {order: [] for order in ("auto", "node", "tree")}
    for name, (file, load) in REAL.items():
        if not (SHARED_DATA / file).exists():
            continue
        split = Split(*load(), 0)
        X, _ = split.beside(split.codes)
        best = dict.fromkeys(("codes", *ratios), np.inf)
        for _ in range(3):
            for contender in best:
                params = {"category_order": contender, "categorical_features": split.categorical}
                model = make(
                    split,
                    "RandomForest",
                    arguments.trees,
                    **({} if contender == "codes" else params),
                )
                begin = time.process_time()
                model.fit(X, split.y)
                best[contender] = min(best[contender], time.process_time() - begin)
        for order, values in ratios.items():
            values.append(best[order] / best["codes"])
        print(
            f"  {name:16}" + "".join(f"{o:>7}{r[-1]:6.2f}" for o, r in ratios.items()), flush=True
        )
    means = {order: np.exp(np.mean(np.log(values))) for order, values in ratios.items()}
    print(f"  {'geometric mean':16}" + "".join(f"{o:>7}{m:6.2f}" for o, m in means.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--kinds", nargs="*", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--only", nargs="*", help="names of sets, or of the parts below")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"spinney {spinney.__version__}, scikit-learn {sklearn.__version__}")
    print(f"{arguments.trees} trees, {arguments.splits} splits of 3/4 and 1/4")
    if lightgbm is None:
        print("skipped: LightGBM is not installed")

    def is_wanted(name: str) -> bool:
        return not arguments.only or name in arguments.only

    defaults = {}
    for name, (file, load) in REAL.items():
        if not is_wanted(name):
            continue
        if not (SHARED_DATA / file).exists():
            print(f"\nskipped: {SHARED_DATA / file} is not there")
            continue
        data = load()
        for kind in arguments.kinds:
            differences = compare(name, data, kind, arguments)
            defaults[name, kind] = differences
    for name, load in SYNTHETIC.items():
        if is_wanted(name):
            compare(name, load(), "RandomForest", arguments)
    if defaults:
        print("\nThe default less the better of ordinal codes and one-hot, on the real sets")
        for (name, kind), differences in defaults.items():
            print(f"  {name:16}{kind:14}{paired(differences)}")
        for kind in arguments.kinds:
            means = [d.mean() for (_, other), d in defaults.items() if other == kind]
            print(f"  {'mean':16}{kind:14}{np.mean(means):+9.4f}")
    parts = {
        "noise": lambda: without_noise(arguments),
        "classes": several_classes,
        "importances": lambda: importances(arguments),
        "times": lambda: times(arguments),
    }
    for name, part in parts.items():
        if is_wanted(name):
            part()
    return 0


if __name__ == "__main__":
    sys.exit(main())
