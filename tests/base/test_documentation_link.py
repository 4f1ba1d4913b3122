"""Notebooks link an estimator to its page, whose address comes from the package's metadata."""

import re
from importlib.metadata import PackageNotFoundError

import pytest
from sklearn.ensemble import RandomForestRegressor

import spinney
from conftest import REPOSITORY
from spinney._common import documentation
from spinney.conformal import CrossConformalRegressor
from spinney.feature_selection import Boruta
from spinney.impute import MissForestImputer
from spinney.survival import SurvivalTree

SITE = "https://docs.example.org/spinney"


class Metadata(dict):
    def get_all(self, name, missing):
        return self.get(name, missing)


@pytest.fixture
def address(monkeypatch):
    """Return a function that sets the addresses in the metadata."""

    def set_urls(*urls):
        documentation.find_site.cache_clear()
        monkeypatch.setattr(documentation, "metadata", lambda _: Metadata({"Project-URL": urls}))

    yield set_urls
    documentation.find_site.cache_clear()


PAGES = {
    spinney.RandomForestClassifier: "spinney.RandomForestClassifier",
    spinney.DecisionTreeRegressor: "spinney.DecisionTreeRegressor",
    spinney.RandomTreesEmbedding: "spinney.RandomTreesEmbedding",
    Boruta: "spinney.feature_selection.Boruta",
    CrossConformalRegressor: "spinney.conformal.CrossConformalRegressor",
    MissForestImputer: "spinney.impute.MissForestImputer",
    SurvivalTree: "spinney.survival.SurvivalTree",
}


@pytest.mark.parametrize("ours", PAGES)
def test_a_notebook_links_to_the_page_of_the_class(address, ours):
    address("Repository, https://example.org", f"Documentation, {SITE}/")
    page = f"{SITE}/api/generated/{PAGES[ours]}.html"
    assert f'href="{page}"' in ours()._repr_html_()
    # The reference has the page.
    reference = (REPOSITORY / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    assert re.search(rf"^   {PAGES[ours].removeprefix('spinney.')}$", reference, re.MULTILINE)


@pytest.mark.parametrize("urls", [(), ("Repository, https://example.org",)])
def test_without_an_address_there_is_no_link(address, urls):
    address(*urls)
    assert "href=" not in spinney.RandomForestClassifier()._repr_html_()


def test_without_metadata_there_is_no_link(address, monkeypatch):
    """A source tree that is imported without being installed has none."""

    def fail(name):
        raise PackageNotFoundError(name)

    address()
    monkeypatch.setattr(documentation, "metadata", fail)
    assert "href=" not in spinney.RandomForestClassifier()._repr_html_()


def test_classes_of_others_keep_their_links(address):
    class Mine(spinney.RandomForestClassifier):
        """A class of a user, which has no page."""

    address(f"Documentation, {SITE}")
    assert Mine()._get_doc_link() == ""
    assert SITE not in RandomForestRegressor()._repr_html_()
