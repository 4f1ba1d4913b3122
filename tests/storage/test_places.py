"""Model files that are no paths: file objects, bytes and URLs; and files of others."""

import io
import pickle
import warnings
import zipfile

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris

import spinney
from spinney.conformal import ConformalizedQuantileRegressor

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return spinney.RandomForestClassifier(5, random_state=0).fit(X, Y)


def assert_same(loaded, forest):
    np.testing.assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))


def test_file_objects_and_bytes(forest, tmp_path):
    """They have the bytes of the file."""
    forest.save(tmp_path / "model")
    expected = (tmp_path / "model").read_bytes()
    buffer = io.BytesIO()
    forest.save(buffer)
    assert buffer.getvalue() == expected
    buffer.seek(0)
    for source in (buffer, expected, bytearray(expected), memoryview(expected)):
        assert_same(spinney.load(source), forest)
    with (tmp_path / "model").open("rb") as file:
        assert_same(spinney.load(file), forest)
    with pytest.raises(ValueError, match="What was given is not a model file of spinney"):
        spinney.load(b"something else")


def test_urls(forest, monkeypatch):
    """fsspec opens them; its file system in memory needs no network."""
    fsspec = pytest.importorskip("fsspec")
    forest.save("memory://models/forest")
    assert_same(spinney.load("memory://models/forest"), forest)
    fsspec.filesystem("memory").rm("models", recursive=True)


def test_urls_need_a_package(forest, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ImportError, match="'s3://bucket/model' is a URL, which the package fsspec"):
        forest.save("s3://bucket/model")
    with pytest.raises(ImportError, match="'s3://bucket/model' is a URL, which the package fsspec"):
        spinney.load("s3://bucket/model")


@pytest.mark.parametrize(
    "compress", [0, *((name, 3) for name in ("zlib", "gzip", "bz2", "lzma", "xz"))]
)
def test_pickles_are_told(forest, compress, tmp_path):
    joblib.dump(forest, tmp_path / "model", compress=compress)
    with pytest.raises(ValueError, match=r"begins otherwise\. It looks like a pickle: use joblib"):
        spinney.load(tmp_path / "model")
    with pytest.raises(ValueError, match="looks like a pickle"):
        spinney.load(pickle.dumps(forest))


def test_files_of_skops_are_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "model", "w") as file:
        file.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match=r"It looks like one of skops: use skops\.io\.load"):
        spinney.load(tmp_path / "model")


@pytest.mark.parametrize(
    "estimator_class", [spinney.DecisionTreeRegressor, spinney.RandomForestRegressor]
)
def test_requests_of_metadata_come_back(estimator_class, tmp_path):
    """What `set_fit_request` has requested is in the file, whether or not routing is enabled."""
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = estimator_class().set_fit_request(sample_weight="weight")
        estimator.set_score_request(sample_weight=True)
    estimator.fit(X, Y).save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    with sklearn.config_context(enable_metadata_routing=True):
        found, expected = (each.get_metadata_routing() for each in (loaded, estimator))
    for method in ("fit", "score"):
        assert getattr(found, method).requests == getattr(expected, method).requests
    assert found.fit.requests["sample_weight"] == "weight"


def test_requests_of_predictions_come_back(tmp_path):
    """Every method of which metadata can be requested, also of an estimator within another."""
    with sklearn.config_context(enable_metadata_routing=True):
        forest = spinney.RandomForestQuantileRegressor(3).set_predict_request(quantiles=True)
        model = ConformalizedQuantileRegressor(forest, confidence_level=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y).save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    with sklearn.config_context(enable_metadata_routing=True):
        for own in (loaded.estimator, loaded.estimator_):
            assert own.get_metadata_routing().predict.requests["quantiles"] is True
