"""Outcomes and treatments as targets, of which leaves keep moments (`dforest.core.effects`)."""

import numpy as np

from dforest.core.objective import EffectObjective
from dforest.estimators.targets.numbers import Numbers


class Effects(Numbers):
    """The moments of rows, which a causal forest makes of outcomes, treatments and instruments: see `Observations`."""

    def objective(self, model, rows):
        return EffectObjective(model._moments)

    def encode_none(self, model):
        return np.zeros((0, model._moments.n))

    def check_splitter(self, model, splitter):
        if splitter.has_own_leaves:
            raise ValueError(f"splitter={splitter!r} has leaves of its own, which causal trees can't have; allowed are others")
