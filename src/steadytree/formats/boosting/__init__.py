"""Trees of boosted ensembles: LightGBM, XGBoost, CatBoost and YDF."""
