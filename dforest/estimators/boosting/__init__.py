"""Boosted trees."""

from dforest.estimators.boosting.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]
