"""Model files: `load`, and what `save` and `load` share."""

from spinney.storage._load import load

__all__ = ["load"]
