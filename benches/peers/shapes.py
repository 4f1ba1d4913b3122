"""Tables of other shapes than most: images, gene expressions and a thousand rows.

Images of digits, 28 x 28, are made of the 8 x 8 ones that come with scikit-learn: enlarged, turned,
shifted and thickened at random, they have the zeros, the constant margins and the neighbours of
MNIST, which is not among the data beside the repository. Gene expressions are 128 x 12,625, by
lineage and by six molecular types. Of each ordinary table a thousand rows are taken, for forests of
100 trees. One thread.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import scipy.ndimage
import sklearn
import sklearn.datasets
import sklearn.ensemble
import sklearn.tree

import spinney
from common import geometric_mean, positive, print_versions, record, time_interleaved
from data_sets import find_data
from real import SEED, SETS, Table, estimator, halves, n_splits

PLANS = ("random forest", "extra trees")
PARTS = ("images", "genes", "few")
SIDE = 28
N_IMAGES = 8_000
FEW_ROWS = 1_000
FEW_TABLES = [name for name in SETS if name not in ("20 newsgroups", "hiv", "lipophilicity")]


def images(n: int) -> Table:
    """Make images of digits: 8-bit numbers, row-major (n, 784)."""
    digits = sklearn.datasets.load_digits()
    rng = np.random.default_rng(SEED)
    chosen = rng.integers(len(digits.target), size=n)
    X = np.zeros((n, SIDE, SIDE), dtype=np.float32)
    for image, digit in zip(X, digits.images[chosen], strict=True):
        turned = scipy.ndimage.rotate(
            scipy.ndimage.zoom(digit, 2.5, order=1), rng.uniform(-15, 15), reshape=False, order=1
        )
        ink = np.clip((turned - rng.uniform(3, 6)) * rng.uniform(18, 30), 0, 255)
        down, right = rng.integers(2, SIDE - 21, size=2)
        image[down : down + 20, right : right + 20] = np.floor(ink)
    return Table(X.reshape(n, -1), digits.target[chosen])


def genes(target: str) -> Table | None:
    """Return the gene expressions of leukemia, if they are there."""
    path = find_data("all_leukemia.npz")
    if not path.exists():
        print(f"genes: skipped, {path.name} is not there")
        return None
    arrays = np.load(path)
    classes = np.unique(arrays[target], return_inverse=True)[1]
    return Table(np.ascontiguousarray(arrays["X"], dtype=np.float32), classes)


def compare(name: str, table: Table, n_trees: int, repeats: int):
    """Time the forests of a table; yield plan and ratio."""
    for plan in PLANS:
        options = {"is_regression": table.is_regression, "n_trees": n_trees, "n_jobs": 1}
        models = {
            "spinney": estimator(spinney, plan, **options),
            "scikit-learn": estimator(sklearn, plan, **options),
        }
        work = {who: partial(model.fit, table.X, table.y) for who, model in models.items()}
        timings = time_interleaved(work, repeats)
        found = {who: min(timing.seconds) for who, timing in timings.items()}
        ratio = found["scikit-learn"] / found["spinney"]
        splits = n_splits(models["spinney"])
        shape = f"{table.X.shape[0]} x {table.X.shape[1]}"
        print(
            f"{name:24}{shape:>14} {plan:14}{found['spinney'] * 1e3:>9.1f} ms"
            f"{found['scikit-learn'] * 1e3:>10.1f} ms{ratio:>7.2f}"
            f"{found['spinney'] * 1e6 / splits:>8.2f} us a split",
            flush=True,
        )
        record(f"{plan}, {name}, {shape}", found)
        yield plan, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=FEW_TABLES)
    parser.add_argument("--trees", type=positive, default=100)
    parser.add_argument("--repeats", type=positive, default=5)
    args = parser.parse_args()
    print_versions()
    if "images" in args.parts:
        list(compare("images", images(N_IMAGES), max(args.trees // 10, 1), args.repeats))
    if "genes" in args.parts:
        for target in ("y_lineage", "y_mol_biol"):
            table = genes(target)
            if table is not None:
                list(compare(f"genes, {target}", table, args.trees, args.repeats))
    ratios: dict[str, list[float]] = {}
    for name in args.sets if "few" in args.parts else ():
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        table, _ = halves(read(), FEW_ROWS)
        for plan, ratio in compare(name, table, args.trees, args.repeats):
            ratios.setdefault(plan, []).append(ratio)
    for plan, found in ratios.items():
        print(f"{plan}, few rows: {geometric_mean(found):.2f}, {min(found):.2f} at least")


if __name__ == "__main__":
    main()
