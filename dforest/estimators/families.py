"""Families of estimators: which parameters and attributes are whose, and what is said of them in other words.

A *family* is what an estimator is, as far as its parameters tell: a forest, a single tree or boosted trees, a classifier or a
regressor, an embedding, a causal or an uplift forest, or a blend of such estimators.
"""

TREES = frozenset({"tree classifier", "tree regressor", "survival tree"})
FORESTS = frozenset({"forest classifier", "forest regressor", "survival forest"})
EMBEDDINGS = frozenset({"embedding"})
ISOLATION = frozenset({"isolation forest"})
CLASSIFIERS = frozenset({"tree classifier", "forest classifier"})
REGRESSORS = frozenset({"tree regressor", "forest regressor"})
SURVIVAL = frozenset({"survival tree", "survival forest"})
BOOSTED_CLASSES = frozenset({"boosting classifier"})
BOOSTED_NUMBERS = frozenset({"boosting regressor"})
BOOSTED_RANKS = frozenset({"boosting ranker"})
BOOSTED_DISTRIBUTIONS = frozenset({"boosting distribution"})
BOOSTING = BOOSTED_CLASSES | BOOSTED_NUMBERS | BOOSTED_RANKS | BOOSTED_DISTRIBUTIONS
BLENDS = frozenset({"blend classifier", "blend regressor"})
CAUSAL = frozenset({"causal forest"})
UPLIFT = frozenset({"uplift forest"})
PREDICTORS = TREES | FORESTS
SHAPED = PREDICTORS | EMBEDDINGS  # families whose users say how large trees are
IN_TABLE = SHAPED | ISOLATION  # families whose parameters are listed here; others have tables of their own
OF_TREES = IN_TABLE | BOOSTING | CAUSAL | UPLIFT  # families whose estimators are trees, and no blends of such estimators
FAMILIES = OF_TREES | BLENDS

# What stands in descriptions for {draws}, {note}, {all_draws} and {impurity}.
_OF_ROWS = {"draws": "rows", "note": "", "all_draws": "the training rows", "impurity": "the impurity"}
_OF_DRAWS = {
    "draws": "draws",
    "note": "A row that the tree drew twice counts twice. ",
    "all_draws": "the tree's draws",
    "impurity": "the impurity",
}
WORDS = {
    **dict.fromkeys(TREES, _OF_ROWS),
    **dict.fromkeys(FORESTS, _OF_DRAWS),
    **dict.fromkeys(EMBEDDINGS, {**_OF_ROWS, "impurity": "the variance of the random targets"}),
    **dict.fromkeys(ISOLATION | CAUSAL | UPLIFT, _OF_DRAWS),
    **dict.fromkeys(BOOSTING, {}),
    **dict.fromkeys(BLENDS, {}),
}
