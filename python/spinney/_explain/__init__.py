"""Methods of estimators that explain them."""
