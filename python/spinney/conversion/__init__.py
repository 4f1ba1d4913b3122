"""Models of other libraries, and for them."""

from spinney.conversion._from_sklearn import from_sklearn

__all__ = ["from_sklearn"]
