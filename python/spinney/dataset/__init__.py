"""Data sets that are encoded once and taken wherever `X` is."""

from spinney.dataset._dataset import Dataset

__all__ = ["Dataset"]
