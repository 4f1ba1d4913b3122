"""The command line: ``python -m spinney info FILE`` prints what is in a model file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from spinney.storage._models import TREE_SECTIONS, StoredModel

_WIDTH = 100


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m spinney", description="Work with model files.")
    commands = parser.add_subparsers(required=True, metavar="command")
    info = commands.add_parser("info", help="print what is in a model file")
    info.add_argument("file", help="a file that an estimator's method save has written")
    try:
        lines = list(_describe(StoredModel(parser.parse_args(arguments).file)))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _describe(model: StoredModel) -> Iterator[str]:
    header, forest, attributes = model.header, model.read_forest(), model.decode("attributes")
    yield f"{header['class']}, saved by spinney {header.get('version')}"
    yield f"  file      {model.n_bytes:,} bytes, format {header['format']}, checksums agree"
    if forest is not None:
        n_nodes = int(forest.node_counts.sum())
        n_bytes = sum(model.sections[name].shape[0] for name in TREE_SECTIONS) / n_nodes
        yield f"  trees     {len(forest):,} with {n_nodes:,} nodes, {n_bytes:.1f} bytes a node"
    n_features = attributes.get("n_features_in_", 0)
    yield f"  features  {n_features:,}{_list_some(attributes.get('feature_names_in_'))}"
    if "classes_" in attributes or "n_outputs_" in attributes:
        yield from _describe_outputs(attributes)
    yield from _describe_categories(attributes)
    yield "parameters"
    for name, value in sorted(model.decode("parameters").items()):
        yield f"  {name} = {_shorten(value)}"
    yield "sections"
    for name, data in model.sections.items():
        yield f"  {name:<12}{data.shape[0]:>14,} bytes"


def _describe_outputs(attributes: dict[str, Any]) -> Iterator[str]:
    classes = attributes.get("classes_")
    if classes is None:
        yield f"  outputs   {attributes['n_outputs_']:,} of numbers"
        return
    for labels in classes if isinstance(classes, list) else [classes]:
        yield f"  classes   {len(labels):,}{_list_some(labels)}"


def _describe_categories(attributes: dict[str, Any]) -> Iterator[str]:
    names = attributes.get("feature_names_in_")
    for feature, known in enumerate(attributes.get("categories_") or []):
        if known is not None:
            name = feature if names is None else names[feature]
            yield f"  category  {name}: {len(known):,}{_list_some(known)}"


def _list_some(values: Any) -> str:
    """Return the first of some values, after a colon."""
    if values is None:
        return ""
    values = list(values)
    shown = ", ".join(str(value) for value in values[:8])
    return ": " + _cut(shown + (", ..." if len(values) > 8 else ""))


def _shorten(value: Any) -> str:
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    return _cut(" ".join(repr(value).split()))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


if __name__ == "__main__":
    sys.exit(main())
