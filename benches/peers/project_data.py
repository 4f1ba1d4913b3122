"""House prices of Ames, Iowa, with a listing: the table that both sides of `project.py` learn from.

The table has no text. So a listing is written from the 18 columns that describe how a house is
built, in the words of the table, and these columns are taken out.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from data_sets import find_data

FILE = "ames_housing.csv.gz"
TREATMENT = "Wood Deck SF"
DESCRIBED = [
    *("Alley", "Condition 1", "Condition 2", "Bldg Type", "House Style", "Roof Style", "Roof Matl"),
    *("Exterior 1st", "Exterior 2nd", "Mas Vnr Type", "Foundation", "Heating", "Electrical"),
    *("Functional", "Garage Type", "Garage Finish", "Fence", "Misc Feature"),
]


def read_houses(file: Path | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return the houses, with categories, holes and a listing, and their prices."""
    path = find_data(FILE) if file is None else file
    # The class of a house is a code, of which no sum makes sense. OpenML's names have no blanks.
    code = "MS SubClass"
    houses = pd.read_csv(path, dtype=dict.fromkeys((code, code.replace(" ", "")), str))
    names = {name.replace(" ", ""): name for name in (code, TREATMENT, *DESCRIBED)}
    houses = houses.rename(columns=names).drop(columns=["Order", "PID"])
    prices = houses.pop("SalePrice")
    listing = houses[DESCRIBED].apply(write_listing, axis=1)
    return houses.drop(columns=DESCRIBED).assign(listing=listing), prices


def write_listing(house: pd.Series) -> str:
    """Return "Roof Style Hip. Foundation CBlock." and so on, without what is missing."""
    return " ".join(f"{name} {value}." for name, value in house.dropna().items())
