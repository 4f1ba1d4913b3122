"""From the X of a user to arrays of numbers: frames, sparse matrices, categories, names."""
