"""The built-in criteria by name: the one place that lists them.

A criterion is a class (`criterion.pyx`, `regression.pyx`, `absolute_error.pyx`, `logrank.pyx`, `isolation.pyx`, `uplift.pyx`),
its formulas (`dforest/rules/criteria.h`, `dforest/rules/medians.h`, `dforest/rules/logrank.h`), an entry here, and a slow twin
(`dforest/testing/scores.py`, `dforest/testing/survival.py`).
"""

from dforest.core.search.absolute_error import AbsoluteError
from dforest.core.search.criterion import Entropy, Gini, Hellinger
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.core.search.isolation import PathLength
from dforest.core.search.logrank import LogRank, LogRankScore
from dforest.core.search.outputs import MultiOutput
from dforest.core.search.regression import Poisson, SquaredError
from dforest.core.search.uplift import ChiSquaredUplift, EuclideanUplift, KullbackLeiblerUplift

CLASS_CRITERIA = {"gini": Gini, "entropy": Entropy, "log_loss": Entropy, "hellinger": Hellinger}

NUMBER_CRITERIA = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "poisson": Poisson,
    "friedman_mse": SquaredError,
}

SURVIVAL_CRITERIA = {"logrank": LogRank, "logrank_score": LogRankScore}

ISOLATION_CRITERIA = {"path_length": PathLength}

EFFECT_CRITERIA = {"heterogeneity": Heterogeneity}

UPLIFT_CRITERIA = {"kl": KullbackLeiblerUplift, "euclidean": EuclideanUplift, "chi2": ChiSquaredUplift}

CRITERIA = CLASS_CRITERIA | NUMBER_CRITERIA | SURVIVAL_CRITERIA | ISOLATION_CRITERIA | EFFECT_CRITERIA | UPLIFT_CRITERIA

# What an object of a built-in class is called.
NAMES = {kind: name for name, kind in reversed(CRITERIA.items())}

# Those that level-wise engines have code for; DF_ and the name are their numbers in records.h, but for heterogeneity, which is
# the squared error of columns that follow from effects.
OF_KERNELS = ("gini", "entropy", "hellinger", "squared_error", "poisson", "absolute_error", "heterogeneity")


def name_of(criterion):
    """What a configured criterion is called, of several outputs that of each; None: it is not built in."""
    return NAMES.get(type(criterion.parts[0] if type(criterion) is MultiOutput else criterion))
