"""Data sets that are encoded once and passed in the place of `X`."""

from spinney.dataset._dataset import Dataset

__all__ = ["Dataset"]
