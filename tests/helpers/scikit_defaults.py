"""scikit-learn's defaults for boosted trees, where tests are about what scikit-learn's own would do."""

from contextlib import ExitStack, contextmanager
from inspect import unwrap
from unittest.mock import patch

from dforest import (
    HistGradientBoostingClassifier,
    HistGradientBoostingDistribution,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
)

BOOSTED = (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    HistGradientBoostingRanker,
    HistGradientBoostingDistribution,
)


@contextmanager
def scikit_defaults():
    """Boosted trees that are made meanwhile, and are told nothing else, have ``defaults="scikit-learn"``."""
    with ExitStack() as stack:
        for kind in BOOSTED:
            given = unwrap(kind.__init__).__kwdefaults__
            stack.enter_context(patch.dict(given, defaults="scikit-learn"))
        yield
