"""Scores of predicted uplift: how well predictions rank rows by what a treatment does for them, in an experiment.

Curves and areas are defined in `qini_curve` and `uplift_curve`. Predictions may come from any model: uplift forests, causal
forests, or those of other libraries.
"""

from dforest.estimators.causal.uplift_scores import (
    auuc_score,
    make_uplift_scorer,
    qini_curve,
    qini_score,
    uplift_at_k,
    uplift_curve,
)
from dforest.inspection.uplift import UpliftCurveDisplay

__all__ = [
    "UpliftCurveDisplay",
    "auuc_score",
    "make_uplift_scorer",
    "qini_curve",
    "qini_score",
    "uplift_at_k",
    "uplift_curve",
]
