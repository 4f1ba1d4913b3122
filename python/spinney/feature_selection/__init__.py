"""Which features matter at all."""

from spinney.feature_selection._boruta import Boruta

__all__ = ["Boruta"]
