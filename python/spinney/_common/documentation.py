"""The link to an estimator's page that scikit-learn shows beside it in notebooks."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from spinney._common.messages import is_ours
from spinney._common.named_methods import name_methods
from spinney._common.sklearn_base import BaseEstimator

# Modules whose classes have their pages by the names that the top level gives them.
_AT_THE_TOP = {"spinney.dask", "spinney.ensemble", "spinney.ray", "spinney.tree"}


@cache
def find_site() -> str | None:
    """Return the address of the site in the metadata of the package, or None without one."""
    try:
        urls = metadata("spinney").get_all("Project-URL", [])
    except PackageNotFoundError:
        return None
    address = dict(url.split(", ", maxsplit=1) for url in urls).get("Documentation")
    return address and address.rstrip("/")


class DocumentedEstimator(BaseEstimator):
    """Base class of estimators whose pages are in our documentation, not in scikit-learn's."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Give errors about the arguments of methods the name of the class."""
        super().__init_subclass__(**arguments)
        name_methods(cls)

    def _get_doc_link(self) -> str:
        """Return the address of the page of the class; empty without one, as scikit-learn asks."""
        public = type(self).__module__.partition("._")[0]
        site = find_site()
        if site is None or not is_ours(public):
            return ""
        module = "spinney" if public in _AT_THE_TOP else public
        return f"{site}/api/generated/{module}.{type(self).__name__}.html"
