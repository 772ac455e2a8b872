"""Couples of an arm and an outcome as targets: classes, of which each arm has two (`dforest.core.objective.UpliftObjective`)."""

import numpy as np

from dforest.core.objective import UpliftObjective
from dforest.estimators.targets.classes import Classes


class ArmsAndOutcomes(Classes):
    """Numbers `2 * arm + outcome`, which an uplift forest makes of treatments and y."""

    def encode(self, model, y, ranks):
        model.n_classes_ = 2 * len(model.arms_)  # also those that no row has
        model.classes_ = np.arange(model.n_classes_)
        return np.concatenate([np.zeros(0, np.int32), *y]).astype(np.int32)

    def objective(self, model, rows):
        return UpliftObjective(model.n_classes_)
