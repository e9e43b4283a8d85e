"""LightGBM, XGBoost, CatBoost and YDF: one tree of theirs, and what its scores mean."""
