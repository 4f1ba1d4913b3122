"""The benches find their data beside the repository, in it, or by scikit-learn's fetchers."""

import importlib
import re
import sys
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from conftest import REPOSITORY

PEERS = REPOSITORY / "benches" / "peers"


@pytest.fixture
def peers(monkeypatch, tmp_path):
    """Return what imports a script of the benches; nothing lies beside the repository."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(PEERS)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.import_module("common"), "SHARED_DATA", tmp_path / "beside")
    yield importlib.import_module
    # Other tests may import other modules of these names.
    for name in set(sys.modules) - before:
        if str(PEERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


HOUSES = """
MSSubClass Alley Condition1 Condition2 BldgType HouseStyle RoofStyle RoofMatl Exterior1st
Exterior2nd MasVnrType Foundation Heating Electrical Functional GarageType GarageFinish Fence
MiscFeature Street WoodDeckSF
"""


def make_houses(n):
    columns = {name: ["a", None] * (n // 2) for name in HOUSES.split()}
    return pd.DataFrame({"Id": range(n), **columns})


def fake_servers(monkeypatch, data_sets, n=60):
    """Let scikit-learn's functions return small sets of the form that the true ones have."""
    rng = np.random.default_rng(0)

    def fetch_openml(data_id, *, as_frame, parser):
        assert as_frame
        assert parser == "auto"
        target = pd.Series(rng.integers(0, 3, n), name="target")
        data = pd.DataFrame({"fLength:": rng.random(n), "word": ["a", "b"] * (n // 2)})
        return Bunch(data=make_houses(n) if data_id == 42_165 else data, target=target)

    def fetch_20newsgroups(subset):
        texts = ["a good film", "a bad film", "some good news"] * (n // 3)
        return Bunch(data=texts, target=np.arange(n) % 3, target_names=["a", "b", "c"])

    def fetch_kddcup99(*, percent10, as_frame):
        assert percent10
        assert as_frame
        words = {name: [b"tcp", b"udp"] * (n // 2) for name in ("protocol_type", "service", "flag")}
        data = pd.DataFrame({"duration": range(n), **words}).astype(object)
        return Bunch(data=data, target=pd.Series([b"normal.", b"smurf."] * (n // 2)))

    def fetch_covtype():
        return Bunch(data=rng.integers(0, 3000, (n, 54)) * 1.0, target=np.arange(n) % 7 + 1)

    def fetch_california_housing(*, as_frame):
        assert as_frame
        return Bunch(frame=pd.DataFrame({"MedInc": rng.random(n), "MedHouseVal": rng.random(n)}))

    for function in (
        fetch_openml,
        fetch_20newsgroups,
        fetch_kddcup99,
        fetch_covtype,
        fetch_california_housing,
    ):
        monkeypatch.setattr(sklearn.datasets, function.__name__, function)
    for name, (number, target, _) in data_sets.OPENML.items():
        monkeypatch.setitem(data_sets.OPENML, name, (number, target, n))


def test_data_beside_the_repository_come_first(peers, tmp_path):
    (tmp_path / "beside").mkdir()
    file = tmp_path / "beside" / "adult_train.csv.gz"
    file.touch()
    assert peers("data_sets").find_data(file.name) == file


def test_the_repository_has_what_it_ships(peers):
    data_sets = peers("data_sets")
    for name in data_sets.SHIPPED:
        assert data_sets.find_data(name).is_relative_to(REPOSITORY / "examples")
        assert data_sets.find_data(name).exists()


def test_what_is_public_is_fetched_once_and_read_by_the_scripts(peers, monkeypatch, capsys):
    data_sets, real = peers("data_sets"), peers("real")
    fake_servers(monkeypatch, data_sets)
    for name, (file, read) in real.SETS.items():
        if file not in data_sets.NOT_PUBLIC:
            table = read()
            assert len(table.y) == table.X.shape[0] > 10, name
    houses, prices = peers("project_data").read_houses()
    assert "Roof Style a. Roof Matl a." in houses["listing"][0]
    assert houses["MS SubClass"].tolist()[:2] == ["a", np.nan]
    assert {"Order", "WoodDeckSF"}.isdisjoint(houses)
    assert "Wood Deck SF" in houses
    assert len(prices) == 60
    assert data_sets.find_data("adult_test.csv.gz").exists()
    assert capsys.readouterr().out.count("fetching") == len(data_sets.FETCHERS) - 1
    data_sets.find_data.cache_clear()
    assert all(data_sets.find_data(name).exists() for name in data_sets.FETCHERS)
    assert capsys.readouterr().out == ""


def test_without_the_network_each_set_says_so_and_is_left_out(peers, monkeypatch, capsys):
    data_sets = peers("data_sets")

    def fail(*_, **__):
        raise URLError("no route to host")

    for name in dir(sklearn.datasets):
        if name.startswith("fetch_"):
            monkeypatch.setattr(sklearn.datasets, name, fail)
    for name in data_sets.FETCHERS:
        assert not data_sets.find_data(name).exists()
        told = capsys.readouterr().out
        assert f"left out: {name} cannot be fetched (URLError: " in told
        assert "no route to host" in told
        assert f"put the file into {data_sets.common.SHARED_DATA}" in told
    for name in data_sets.NOT_PUBLIC:
        assert not data_sets.find_data(name).exists()
        assert "no server of scikit-learn has it" in capsys.readouterr().out
    problems = dict(peers("lazy").load(["Breast", "Adult", "Gamma", "ALL", "20 Newsgroups"]))
    assert list(problems) == ["Breast", "Adult"]
    assert "Gamma               skipped, magic04.csv.gz is not there" in capsys.readouterr().out


def test_another_data_set_under_a_known_number_is_refused(peers, monkeypatch, capsys):
    data_sets = peers("data_sets")
    fake_servers(monkeypatch, data_sets)
    monkeypatch.setitem(data_sets.OPENML, "splice.csv.gz", (46, "Class", 3190))
    assert not data_sets.find_data("splice.csv.gz").exists()
    assert "number 46 of OpenML must have 3190 rows, got 60" in capsys.readouterr().out


def test_every_file_that_a_script_names_can_be_looked_for(peers):
    data_sets = peers("data_sets")
    known = {*data_sets.SHIPPED, *data_sets.FETCHERS, *data_sets.NOT_PUBLIC}
    for script in PEERS.glob("*.py"):
        text = script.read_text(encoding="utf-8")
        named = set(re.findall(r'"(\w+\.(?:csv\.gz|npz))"', text)) - set(data_sets.SHIPPED.values())
        assert named <= known, script.name
        assert script.name in ("common.py", "data_sets.py") or "SHARED_DATA" not in text
