"""Forests whose trees other processes grow: those of a pool, or of a cluster."""
