"""Where the data sets of the benches are: beside the repository, in it, or fetched.

`find_data` looks in the folder `shared/data` beside the repository, then in `examples/data`.
scikit-learn's functions fetch what is in neither, if a public server has it. It is kept in the
folder `spinney` of scikit-learn's cache (`sklearn.datasets.get_data_home()`), in the form that the
scripts read.
"""

from __future__ import annotations

import functools
import http.client
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from sklearn.feature_extraction.text import TfidfVectorizer

import common

# Files that the repository has, by the name that scripts ask for.
SHIPPED = {
    "adult_train.csv.gz": "adult.csv.gz",
    "agaricus.npz": "agaricus.npz",
    "agaricus_meta.npz": "agaricus_meta.npz",
    "lipophilicity_ecfp4_counts.npz": "lipophilicity_ecfp4_counts.npz",
    "lipophilicity_meta.npz": "lipophilicity_meta.npz",
}
# Tables of OpenML: the number of the data set, the column of the target here, and the rows.
OPENML = {
    "adult_test.csv.gz": (1590, "income", 48_842),
    "ames_housing.csv.gz": (42_165, "SalePrice", 1_460),
    "diamonds.csv.gz": (42_225, "price", 53_940),
    "magic04.csv.gz": (1120, "class", 19_020),
    "protein_casp.csv.gz": (44_963, "RMSD", 45_730),
    "splice.csv.gz": (46, "Class", 3_190),
}
# What no function of scikit-learn fetches.
NOT_PUBLIC = (
    "all_leukemia.npz",
    "beijing_air.csv.gz",
    "hiv_ecfp4_counts.npz",
    "hiv_meta.npz",
    "nycflights13_joined.csv.gz",
    "plant_c2u_balanced.csv.gz",
    "plant_c2u_editing.csv.gz",
)
# OpenML has the test rows of Adult first.
ADULT_TEST_ROWS = 16_281


@functools.cache
def find_data(name: str) -> Path:
    """Return the path of a file; say why, if it is not there and cannot be fetched.

    Parameters
    ----------
    name : str
        As it is named in the folder beside the repository.

    Returns
    -------
    path : Path
        Where the file is, or would be beside the repository.
    """
    beside = common.SHARED_DATA / name
    if beside.exists():
        return beside
    if name in SHIPPED:
        return common.REPOSITORY / "examples" / "data" / SHIPPED[name]
    if name in NOT_PUBLIC:
        print(
            f"left out: {name} is not in {common.SHARED_DATA}, and no server of scikit-learn has it"
        )
        return beside
    cache = Path(sklearn.datasets.get_data_home(), "spinney")
    kept = cache / name
    if kept.exists():
        return kept
    print(f"fetching {name}, to keep it in {cache}", flush=True)
    cache.mkdir(exist_ok=True)
    try:
        # Whoever is interrupted leaves no half of a file there.
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            FETCHERS[name](Path(folder))
            for file in Path(folder).iterdir():
                file.replace(cache / file.name)
    except (OSError, http.client.HTTPException, ValueError) as error:
        print(
            f"left out: {name} cannot be fetched ({type(error).__name__}: {error}). "
            f"Connect to the network, or put the file into {common.SHARED_DATA}",
            flush=True,
        )
        return beside
    return kept


def fetch_news(folder: Path) -> None:
    """Write the posts of 20 Newsgroups as TF-IDF of the training posts, and their groups."""
    parts = [sklearn.datasets.fetch_20newsgroups(subset=part) for part in ("train", "test")]
    vectorizer = TfidfVectorizer(min_df=2, dtype=np.float32)
    train = vectorizer.fit_transform(parts[0].data)
    sp.save_npz(
        folder / "news20_bydate_tfidf.npz", sp.vstack([train, vectorizer.transform(parts[1].data)])
    )
    y = np.concatenate([part.target for part in parts])
    np.savez_compressed(
        folder / "news20_bydate_meta.npz",
        y=y,
        is_train=np.arange(len(y)) < train.shape[0],
        target_names=np.array(parts[0].target_names),
    )


def fetch_covertype(folder: Path) -> None:
    data = sklearn.datasets.fetch_covtype()
    X = np.asfortranarray(data.data, dtype=np.int16)
    np.savez_compressed(folder / "covertype.npz", X=X, y=data.target.astype(np.int64))


def fetch_california(folder: Path) -> None:
    """Write the eight numbers that scikit-learn has of each district, without `ocean_proximity`."""
    frame = sklearn.datasets.fetch_california_housing(as_frame=True).frame
    frame = frame.rename(columns={"MedHouseVal": "median_house_value"})
    frame.to_csv(folder / "california_housing.csv.gz", index=False)


def fetch_connections(folder: Path) -> None:
    """Write the tenth of KDD Cup 1999, whose strings are bytes at first."""
    data = sklearn.datasets.fetch_kddcup99(percent10=True, as_frame=True)
    frame = data.data.assign(label=data.target)
    for name in ("protocol_type", "service", "flag", "label"):
        frame[name] = frame[name].map(lambda value: value.decode().rstrip("."))
    frame.to_csv(folder / "kddcup99_10pct.csv.gz", index=False)


def fetch_from_openml(name: str, folder: Path) -> None:
    number, target, n_rows = OPENML[name]
    data = sklearn.datasets.fetch_openml(data_id=number, as_frame=True, parser="auto")
    frame = data.data.rename(columns=lambda title: title.rstrip(":"))
    frame[target] = data.target
    if len(frame) != n_rows:
        raise ValueError(f"number {number} of OpenML must have {n_rows} rows, got {len(frame)}")
    if name == "adult_test.csv.gz":
        frame = frame[:ADULT_TEST_ROWS]
    if name == "ames_housing.csv.gz":
        # Numbers of the houses, which the original table has in two columns.
        numbers = {"Order": range(n_rows), "PID": range(n_rows)}
        frame = frame.drop(columns="Id", errors="ignore").assign(**numbers)
    frame.to_csv(folder / name, index=False)


FETCHERS: dict[str, Callable[[Path], Any]] = {
    "news20_bydate_tfidf.npz": fetch_news,
    "news20_bydate_meta.npz": fetch_news,
    "covertype.npz": fetch_covertype,
    "california_housing.csv.gz": fetch_california,
    "kddcup99_10pct.csv.gz": fetch_connections,
    **{name: functools.partial(fetch_from_openml, name) for name in OPENML},
}
