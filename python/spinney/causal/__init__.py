"""What works, and for whom: forests of treatment effects."""

from spinney.causal._estimates import Estimate, LinearEstimates
from spinney.causal._forest import CausalForest

__all__ = ["CausalForest", "Estimate", "LinearEstimates"]
