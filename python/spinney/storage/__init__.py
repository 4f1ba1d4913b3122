"""Model files."""

from spinney.storage._load import load

__all__ = ["load"]
