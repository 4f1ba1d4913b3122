"""Forests whose trees other processes grow: processes of a pool, or of a cluster."""
