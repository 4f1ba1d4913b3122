"""Methods of estimators that explain them: contributions, importances, proximities, spread."""
