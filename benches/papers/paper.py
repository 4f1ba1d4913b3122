"""What the experiments of the papers share: data, times, and the file of results.

A script measures, and writes `results/NAME.json`. `report.py` makes the table and the plot of it. A
results file has `format` (1), `title`, `source` (the paper), `command`, `date`, `versions`,
`machine` (processor and number of cores), `tables` and `plots`; see `report.py`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
sys.path.insert(0, str(HERE.parent / "peers"))

import common  # noqa: E402
from common import SHARED_DATA, describe_run, positive, same_bits  # noqa: E402

__all__ = [
    "find_missing",
    "import_peer",
    "least_seconds",
    "parse_arguments",
    "positive",
    "round_figures",
    "same_bits",
    "write_results",
]


def import_peer(name: str) -> Any:
    """Import one of the scripts that compare with other libraries."""
    return importlib.import_module(name)


def parse_arguments(description: str, **extra: dict[str, Any]) -> argparse.Namespace:
    """Read the arguments that all scripts have, and those of one of them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--data",
        type=Path,
        default=SHARED_DATA,
        help="folder of the data sets that are not shipped",
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    for name, options in extra.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
    return parser.parse_args()


def find_missing(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Say which files are not there, one line for each."""
    missing = [name for name in names if not (folder / name).exists()]
    for name in missing:
        print(f"missing: {folder / name} (another folder: --data FOLDER)")
    return missing


def least_seconds(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least processor seconds of each work. Works take turns.

    Processor time and its minimum are what other programs on the machine disturb least.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            gc.collect()
            start = time.process_time()
            work()
            seconds[name].append(time.process_time() - start)
    return {name: round_figures(min(values)) for name, values in seconds.items()}


def round_figures(number: float, figures: int = 3) -> float:
    return float(f"{number:.{figures}g}")


def write_results(
    folder: Path,
    name: str,
    *,
    title: str,
    source: str,
    tables: list[dict[str, Any]],
    plots: list[dict[str, Any]],
) -> None:
    """Write a file of results."""
    run = describe_run(f"python benches/papers/{name}.py")
    results = {"title": title, "source": source, **run, "tables": tables, "plots": plots}
    common.write_results(folder / f"{name}.json", results)
    print(f"written: {folder / name}.json", flush=True)
