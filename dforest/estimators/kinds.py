"""What functions that take a fitted estimator ask of its class: nothing here knows more of estimators."""


class Classifier:
    """What predicts classes."""


class DecisionTree:
    """A single tree."""


class Forest:
    """A forest of trees that do not depend on each other."""


class SurvivalTrees:
    """A tree or a forest for survival times."""


class BoostedTrees:
    """Trees that are grown one after another, and whose leaves add up."""


class RankingTrees(BoostedTrees):
    """Boosted trees that rank the rows of queries."""


class DistributionTrees(BoostedTrees):
    """Boosted trees whose raw predictions are parameters of distributions."""


class OutlierForest:
    """A forest that finds outliers."""


class CausalTrees:
    """A forest for the effects of treatments."""


class UpliftTrees:
    """A forest for the uplift of treatments, by outcomes of two classes."""


class Embedding:
    """A forest that turns rows into the leaves that they reach, and predicts nothing."""


class Blend:
    """A weighted mean of other estimators."""
