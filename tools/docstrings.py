"""Writes the descriptions of parameters and attributes that several docstrings share.

A docstring lists its parameters with their types. Descriptions that others need too are in
`tools/descriptions.py`, and this script writes them into the sources: below each entry of a
docstring whose name is in the vocabulary of that docstring. So editors, type checkers, `help()`
and readers of the source see the same text, and Python does nothing when it imports the package.

    python tools/docstrings.py          # writes
    python tools/docstrings.py --check  # fails if something would be written
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path

import descriptions
from written import REPOSITORY, write_all

SOURCES = REPOSITORY / "python" / "spinney"
WIDTH = 100

# Which vocabulary the docstring of a class, method or function takes, by its name.
QUERY, TRAINING = descriptions.QUERY, descriptions.TRAINING
VOCABULARY_OF = {
    "DecisionTreeClassifier": descriptions.TREE_CLASSIFIER,
    "DecisionTreeRegressor": descriptions.TREE_REGRESSOR,
    "ExtraTreeClassifier": descriptions.TREE_CLASSIFIER,
    "ExtraTreeRegressor": descriptions.TREE_REGRESSOR,
    "RandomForestClassifier": descriptions.FOREST_CLASSIFIER,
    "RandomForestRegressor": descriptions.FOREST_REGRESSOR,
    "ExtraTreesClassifier": descriptions.FOREST_CLASSIFIER,
    "ExtraTreesRegressor": descriptions.FOREST_REGRESSOR,
    "BalancedRandomForestClassifier": descriptions.BALANCED_CLASSIFIER,
    "RandomForestQuantileRegressor": descriptions.QUANTILE_FOREST,
    "ExtraTreesQuantileRegressor": descriptions.QUANTILE_FOREST,
    "LazyForestClassifier": descriptions.LAZY_CLASSIFIER,
    "LazyForestRegressor": descriptions.LAZY_REGRESSOR,
    "RandomTreesEmbedding": descriptions.EMBEDDING,
    "GradientBoostingClassifier": descriptions.BOOSTING,
    "GradientBoostingRegressor": descriptions.BOOSTING,
    "HistGradientBoostingClassifier": descriptions.HISTOGRAM_BOOSTING,
    "HistGradientBoostingRegressor": descriptions.HISTOGRAM_BOOSTING,
    "GradientBoostingSurvival": descriptions.SURVIVAL_BOOSTING,
    "CausalForest": descriptions.CAUSAL_FOREST,
    "IsolationForest": descriptions.ISOLATION_FOREST,
    "SurvivalTree": descriptions.SURVIVAL_TREE,
    "RandomSurvivalForest": descriptions.SURVIVAL_FOREST,
    "ExtraSurvivalTrees": descriptions.SURVIVAL_FOREST,
    "LazySurvivalForest": descriptions.LAZY_SURVIVAL_FOREST,
    "Boruta": descriptions.FEATURES,
    "MissForestImputer": descriptions.FEATURES,
    "cost_complexity_pruning_path": TRAINING,
    **dict.fromkeys(
        ("cross_validate", "cross_val_score", "cross_val_predict"), descriptions.CROSS_VALIDATION
    ),
    **dict.fromkeys(
        (
            "apply",
            "decision_function",
            "decision_path",
            "explore",
            "path_length",
            "predict",
            "predict_log_proba",
            "predict_proba",
            "predict_standard_error",
            "score_samples",
            "staged_decision_function",
            "staged_predict",
            "staged_predict_proba",
        ),
        QUERY,
    ),
}
# Methods whose names have other meanings in other files.
OWN = {
    "ensemble/_boosting.py": {"fit": TRAINING},
    "tree/_base.py": {"fit": TRAINING},
    "ensemble/_bagged.py": {"fit": descriptions.FOREST_TRAINING},
    "ensemble/_quantile_base.py": {"fit": descriptions.FOREST_TRAINING},
    "ensemble/_random_trees_embedding.py": {"transform": QUERY},
    "survival/_tree.py": {"fit": descriptions.SURVIVAL_TRAINING},
    "survival/_base.py": {"fit": descriptions.SURVIVAL_FOREST_TRAINING},
}

# "name : type", the first line of an entry of a numpydoc section.
ENTRY = re.compile(r"(?P<margin> *)(?P<name>\w+) : ")


def read_vocabulary(vocabulary: str) -> dict[str, str]:
    """Return the descriptions by name; of two of one name, the second."""
    entries = re.findall(r"^(\w+)\n((?:    .*\n)+)", vocabulary, re.MULTILINE)
    return {name: " ".join(description.split()) for name, description in entries}


def write_docstrings(source: str, vocabularies: dict[str, str]) -> str:
    """Return the source of a module with the descriptions of its docstrings."""
    lines = source.split("\n")
    documented = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        and node.name in vocabularies
        and ast.get_docstring(node) is not None
    ]
    # From the end, so that the numbers of the lines before stay.
    for node in sorted(documented, key=lambda node: -node.lineno):
        docstring = node.body[0]
        first, last = docstring.lineno - 1, docstring.end_lineno
        known = read_vocabulary(vocabularies[node.name])
        lines[first:last] = describe(lines[first:last], known)
    return "\n".join(lines)


def describe(docstring: list[str], known: dict[str, str]) -> list[str]:
    """Return the lines of a docstring with the known descriptions below its entries."""
    described = []
    rest = list(docstring)
    while rest:
        line = rest.pop(0)
        described.append(line)
        entry = ENTRY.match(line)
        if entry is None or entry["name"] not in known:
            continue
        while described[-1].endswith("\\"):
            described.append(rest.pop(0))
        margin = entry["margin"] + "    "
        while rest and rest[0].startswith(margin):
            rest.pop(0)
        described += wrap(known[entry["name"]], margin)
    return described


def wrap(text: str, margin: str) -> list[str]:
    """Return the lines of a description; what stands in backticks stays on one line."""
    text = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(text, WIDTH - len(margin), break_long_words=False, break_on_hyphens=False)
    return [margin + line.replace("\0", " ") for line in lines]


def write_sources() -> dict[Path, str]:
    """Return the text of each file that has such docstrings."""
    written = {}
    for file in SOURCES.rglob("*.py"):
        vocabularies = VOCABULARY_OF | OWN.get(file.relative_to(SOURCES).as_posix(), {})
        written[file] = write_docstrings(file.read_text(encoding="utf-8"), vocabularies)
    return written


if __name__ == "__main__":
    sys.exit(write_all(write_sources()))
