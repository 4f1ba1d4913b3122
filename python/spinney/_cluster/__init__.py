"""What forests on Dask and on Ray share."""
