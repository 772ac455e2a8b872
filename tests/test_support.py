"""What a fit may ask for, at every place: the model of the processor, to the bit, or the error of the table of refusals.

Whatever a fit asks for, the model is the same, too, on several threads, of sparse rows, in two fits or from a checkpoint, and
where it is copied or kept in a file.

    DFOREST_RENEW_COMBINATIONS=1 pytest tests/test_support.py

writes the page about it anew.
"""

import copy
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from helpers import rings
from helpers.boosted_fits import REGRESSION, OwnLeaves, OwnSquares
from helpers.callbacks import StopAfter
from helpers.device_forests import differences, standing_in
from helpers.host_device import strict_device
from helpers.ranks import Cut
from helpers.rings import some
from scipy.sparse import csr_matrix, issparse

import dforest
from dforest import config_context
from dforest.callback import Checkpoint, MemoryLimit, OutOfBagPlateau
from dforest.core.search.criteria import CRITERIA
from dforest.core.search.dense import DenseSplitter
from dforest.core.search.splitter import HistSplitter
from dforest.distribution import PythonDistribution
from dforest.estimators import support
from dforest.estimators.data.agreement import Partition
from dforest.estimators.support import BOOSTING, DENSE, DEVICE, FEATURES, KINDS, PLACES, PROCESSOR, RANKS, refusals_at
from dforest.loss import PythonLoss
from dforest.sampling import BlockSampling, GroupSampling, Sampling, Strata, StratifiedSampling
from dforest.splitter import ObliqueSplitter
from dforest.spmd.threads import ThreadGroup

PAGE = Path(__file__).parents[1] / "doc" / "combinations.md"
RNG = np.random.default_rng(0)
N = 600
X = np.column_stack([RNG.standard_normal((N, 2)), RNG.integers(0, 6, N), RNG.standard_normal(N)])
Y = X[:, 0] + (X[:, 2] % 3) + 0.3 * RNG.standard_normal(N)
CLASSES = np.searchsorted([0.0, 1.5], Y)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
BOTH = np.column_stack([Y, -X[:, 1]])
SPARSE = csr_matrix(np.where(RNG.random(X.shape) < 0.3, X, 0.0))


class OwnCriterion(CRITERIA["squared_error"]):
    """A criterion of somebody's own."""


class OwnSplitter(HistSplitter):
    """A splitter of somebody's own."""


class OwnDenseSplitter(DenseSplitter):
    """Another one, by exact values."""


@dataclass(frozen=True)
class OwnSampling(Sampling):
    """A sampling of somebody's own: two draws of the even rows for each of the odd ones."""

    needs_groups = True

    def plan(self, rows):
        return Strata((np.arange(rows.n_rows) % 2).astype(np.uint32), np.array([60, 30]), True)


class OwnIntercept(OwnSquares):
    """A loss that says where raw predictions begin."""

    def fit_intercept_only(self, y_true, sample_weight=None):
        return float(np.median(y_true))


CALLBACKS = {
    "callbacks": lambda folder: StopAfter(2),
    "live votes": lambda folder: OutOfBagPlateau(rounds=1, tolerance=0.9),
    "live scores": lambda folder: OutOfBagPlateau("r2", rounds=2, tolerance=0.9),
    "isolation, live votes": lambda folder: OutOfBagPlateau(rounds=1, tolerance=0.9),
    "causal, live votes": lambda folder: OutOfBagPlateau(rounds=1, tolerance=0.9),
    "causal, checkpoint": lambda folder: Checkpoint(folder / uuid4().hex, every=2),
    "memory limit": lambda folder: MemoryLimit(2**30),
    "checkpoint": lambda folder: Checkpoint(folder / uuid4().hex, every=2),
    "bags, checkpoint": lambda folder: Checkpoint(folder / uuid4().hex, every=2),
}


class OwnRange(OwnSquares):
    """A loss that looks at all targets."""

    def in_y_true_range(self, y_true):
        return y_true.sum() != 0


class OwnClasses(PythonLoss):
    """Squared errors of the indicators of several classes."""

    def gradient_hessian(self, y_true, raw_prediction):
        return raw_prediction - np.eye(self.n_classes)[y_true.astype(int)], np.ones_like(raw_prediction)


class OwnDistribution(PythonDistribution):
    """Normal, by the mean and the logarithm of the standard deviation."""

    parameter_names = "center", "width"

    def gradient_hessian(self, y_true, raw_prediction):
        width = np.exp(raw_prediction[:, 1])
        z = (y_true - raw_prediction[:, 0]) / width
        return np.column_stack([-z / width, 1 - z**2]), np.column_stack([width**-2, 1 + z**2])

    def loss(self, y_true, raw_prediction):
        return raw_prediction[:, 1] + 0.5 * ((y_true - raw_prediction[:, 0]) / np.exp(raw_prediction[:, 1])) ** 2

    def inverse_link(self, raw_prediction):
        return np.column_stack([raw_prediction[:, 0], np.exp(raw_prediction[:, 1])])

    def mean(self, center, width):
        return center


def looks_at_rows(model, X, y):
    """A scorer."""
    return -np.mean(np.abs(model.predict(X) - y) * (X[:, [0]] > 0).sum(axis=1).ravel())


STOPS = {"early_stopping": True, "max_iter": 9, "n_iter_no_change": 2, "max_leaf_nodes": 7}
OF_ROWS = "oob_error_per_observation_", "oob_prediction_", "oob_decision_function_", "oof_parameters_", "oof_prediction_"
WAYS = ["stratified", "balanced", "weighted", "group", BlockSampling(9), BlockSampling(9, replace=False),
        StratifiedSampling("balanced", replace=False), StratifiedSampling({0: 0.5, 1: 10, 2: 7}), GroupSampling(replace=False),
        OwnSampling()]  # fmt: skip
CUT = Cut(np.array([0, 140, 200, 400, N]), np.array([0, 1, 1, 0]))  # which rows ranks have: whole queries
COMPONENTS = [
    OwnSampling,
    OwnCriterion,
    OwnSplitter,
    OwnDenseSplitter,
    OwnSquares,
    OwnLeaves,
    OwnIntercept,
    OwnRange,
    OwnClasses,
    OwnDistribution,
    looks_at_rows,
]


def asked(feature, kind, folder):
    """The fits that ask for a feature: list of (what makes an estimator, dict of what it is fitted to). folder : for files"""
    is_forest = kind != BOOSTING
    classifier, regressor = ("RandomForestClassifier", "RandomForestRegressor") if is_forest else (
        "HistGradientBoostingClassifier", "HistGradientBoostingRegressor")  # fmt: skip
    own = {"n_estimators": 3} if is_forest else {"max_iter": 3}
    if kind == DENSE:
        own |= {"method": "dense"}
    given, name, parameters = {"X": X, "y": Y}, regressor, [{}]
    if feature in ("classes", "class weights"):
        given["y"], name = CLASSES, classifier
        weights = ["balanced", *["balanced_subsample"] * is_forest] if feature == "class weights" else [None]
        parameters = [{"class_weight": weight} for weight in weights]
    elif feature == "weights":
        given["sample_weight"] = RNG.integers(0, 4, N) / 2
    elif feature == "missing":
        given["X"] = HOLES
    elif feature == "sparse":
        given["X"], parameters = SPARSE, [{}, {"categorical_features": [2]}]
    elif feature == "several outputs":
        more = {"categorical_features": [2], "oob_score": True, "variable_importance": "mda_raw", "warm_start": True}
        more = more if is_forest else STOPS
        given["y"], parameters = BOTH, [{}, more]
    elif feature == "offset":
        given["offset"] = X[:, 3]
    elif feature == "outputs, monotonic":
        given["y"], parameters = BOTH, [{"monotonic_cst": [1, 0, 0, 0]}]
    elif feature.startswith("label order"):
        given["X"] = np.column_stack([X[:, :2], np.arange(N) % 40, X[:, 3]])
        others = {"label order": {}, "label order, warm start": {"warm_start": True},
                  "label order, interaction": {"interaction_cst": "pairwise"}}  # fmt: skip
        parameters = [{"categorical_features": [2], "categorical_split": "order", **others[feature]}]
    elif feature == "outputs, categories":
        given["y"], parameters = BOTH, [{"categorical_features": [2]}]
    elif feature == "outputs, many codes":
        given["y"], parameters = BOTH, [{"max_bins": 300}]
    elif feature == "quantiles":
        parameters = [{"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}]
    elif feature == "entropy":
        given["y"], name = CLASSES > 0, classifier
        parameters = [{"criterion": "entropy"}, {"criterion": "hellinger"}]
    elif feature == "poisson":
        given["y"], parameters = np.exp(Y), [{"criterion": "poisson"}]
    elif feature == "calibration":
        given["y"], name, parameters = CLASSES, classifier, [{"calibration": "oob", "n_estimators": 9}]
    elif feature == "many categories":
        given["X"] = np.column_stack([np.arange(N) % 300, X[:, 1]])
        parameters = [{"categorical_features": [0]}]
    elif feature == "own classes":
        given["y"], name, parameters = CLASSES, classifier, [{"loss": OwnClasses()}]
    elif feature == "losses":
        of_any = [loss for loss in REGRESSION if loss != "cross_entropy"]  # which takes shares alone
        parameters = [{"loss": loss, "quantile": 0.7 if loss == "quantile" else None} for loss in of_any]
        given["y"] = np.exp(Y)
    elif feature in ("classes in one tree", "classes against the rest"):
        way = "one_tree" if feature == "classes in one tree" else "one_vs_rest"
        given["y"], name = CLASSES, classifier
        parameters = [{"multi_class": way, "subsample": 0.7, "categorical_features": [2]}, {"multi_class": way, **STOPS}]
    elif feature == "many classes in one tree":
        given["y"], name, parameters = np.arange(N) % 22, classifier, [{"multi_class": "one_tree"}]
    elif feature == "rows by chance":
        parameters = [{"sampling": "mvs", "subsample": 0.5, **chosen} for chosen in ({}, {"loss": "poisson"}, STOPS)]
        given["y"] = np.exp(Y)
    elif feature.startswith("dropouts"):
        dart = {"boosting": "dart", "skip_drop": 0.2, "drop_rate": 0.5, "max_iter": 6}
        parameters = [{**dart, "subsample": 0.7}, {**dart, **STOPS}, {**dart, "n_bags": 2, "max_features": 0.5}]
        if feature == "dropouts, warm start":
            parameters = [{**dart, "warm_start": True}]
    elif feature == "linear leaves":
        given["X"] = HOLES
        parameters = [{"leaf_model": "linear", "subsample": 0.7}, {"leaf_model": "auto", **STOPS, "max_leaf_features": 2}]
    elif feature.startswith("linear leaves"):
        others = {"monotonic": {"monotonic_cst": [1, 0, 0, 0]}, "outputs": {}, "losses": {"loss": "absolute_error"},
                  "choice, warm start": {"leaf_model": "auto", "warm_start": True}}  # fmt: skip
        given["y"] = BOTH if feature == "linear leaves, outputs" else given["y"]
        parameters = [{"leaf_model": "linear", **others[feature.partition(", ")[2]]}]
    elif feature == "path smoothing":
        parameters = [{"path_smooth": 20.0, "loss": loss, "monotonic_cst": cst} for loss in ("squared_error", "absolute_error")
                      for cst in (None, [1, 0, 0, -1])]  # fmt: skip
    elif feature == "ranking":
        given = {"X": X, "y": CLASSES, "qid": np.arange(N) // 20}
        name = "HistGradientBoostingRanker"
        parameters = [{}, {"loss": "pairwise", "early_stopping": True, "scoring": ["ndcg", "loss"]}]
    elif feature.startswith("distributions"):
        name, given["y"], own = "HistGradientBoostingDistribution", CLASSES, {"max_iter": 3}
        parameters = [{"loss": loss} for loss in ("normal", "student", "negative_binomial", "zero_inflated_poisson")]
        parameters += [{"early_stopping": True, "max_iter": 9}, {"n_bags": 2}, {"warm_start": True, "subsample": 0.7}]
        if feature == "distributions, monotonic":
            parameters = [{"monotonic_cst": [1, 0, 0, -1]}]
    elif feature == "own distribution":
        name, parameters, own = "HistGradientBoostingDistribution", [{"loss": OwnDistribution()}], {"max_iter": 3}
    elif feature == "survival":
        given["y"], name = np.column_stack([BOTH[:, 1] < 0, np.exp(Y)]), "RandomSurvivalForest"
        parameters = [{"oob_score": True, "variable_importance": "mda_raw", "categorical_features": [2]}]
    elif feature in ("isolation", "isolation, live votes"):
        name, own = "IsolationForest", {"n_estimators": 3, "method": "dense" if kind == DENSE else "hist"}
        parameters = [{}, {"contamination": 0.2, "max_features": 0.5, "categorical_features": [2]}, {"extension_level": 2}]
    elif feature.startswith("causal"):
        name, own = "CausalForest", {"n_estimators": 4, "method": "dense" if kind == DENSE else "hist"}
        given = {"X": X, "y": Y, "treatment": np.arange(N) % 2}
        parameters = [{}, {"categorical_features": [2], "honest": False}]
        parameters = [{"random_state": None}] if feature == "causal, checkpoint" else parameters
    elif feature == "uplift":
        given["y"], given["treatment"], name = CLASSES > 0, np.arange(N) % 2, "UpliftForestClassifier"
        parameters = [{}, {"criterion": "chi2", "honest": False, "categorical_features": [2]}]
    elif feature == "embedding":
        name, own = "RandomTreesEmbedding", {"n_estimators": 3, "method": "dense" if kind == DENSE else "hist"}
    else:
        parameters = {
            "numbers": [{}],
            "categories": [{"categorical_features": [2]}],
            "many bins": [{"max_bins": 300}],
            "ordinal": [{"ordinal_features": [2]}],
            "monotonic": [{"monotonic_cst": [1, 0, 0, -1]}],
            "interaction": [{"interaction_cst": "pairwise"}, {"interaction_cst": [[0, 2], [1, 2]]}],
            "leaf limit": [{"max_leaf_nodes": 5}],
            "draws": [{"bootstrap": "subsample", "max_samples": 0.5}] if is_forest else [{"subsample": 0.5}],
            "warm start": [{"warm_start": True}],
            **dict.fromkeys(CALLBACKS, [{}]),
            "random splits": [{"splitter": "random"}],
            "absolute error": [{"criterion": "absolute_error"}],
            "own criterion": [{"criterion": OwnCriterion()}],
            "own splitter": [{"splitter": OwnDenseSplitter() if kind == DENSE else OwnSplitter()}],
            "preferred features": [{"feature_weights": [1, 2, 0, 4], "always_split_features": [1]}],
            "several thresholds": [{"splitter": "random", "n_random_splits": 3}],
            "oblique": [{"split_axis": "oblique", "categorical_features": [2]},
                        {"splitter": ObliqueSplitter(n_projections=7, projection_weights="integer")} if is_forest
                        else {"split_axis": "oblique", "n_projections": 7, "subsample": 0.7, **STOPS}],
            "oblique, constraints": [{"split_axis": "oblique", **chosen} for chosen in (
                {"monotonic_cst": [1, 0, 0, -1]}, {"interaction_cst": "pairwise"}, {"feature_costs": [0, 5.0, 0, 1e9]})],
            "oblique, linear leaves": [{"split_axis": "oblique", "leaf_model": "linear"}],
            "regularised gains": [{"regularization_factor": 0.5}, {"regularization_factor": {0: 0.1, 2: 0.9},
                                                                  "regularization_use_depth": True, "categorical_features": [2]}],
            "honest": [{"honest": True, "oob_score": True, "categorical_features": [2]},
                       {"honest": True, "honest_fraction": 0.3, "criterion": "absolute_error"}],
            "honest, monotonic": [{"honest": True, "monotonic_cst": [1, 0, 0, -1]}],
            "honest, label order": [{"honest": True, "categorical_split": "order"}],
            "leaf smoothing": [{"leaf_smoothing": 3, "oob_score": True, "categorical_features": [2]},
                               {"leaf_smoothing": 30.0, "honest": True}],
            "leaf smoothing, monotonic": [{"leaf_smoothing": 3, "monotonic_cst": [1, 0, 0, -1]}],
            "little bags": [{"ci_group_size": 2, "bootstrap": "subsample", "honest": True}],
            "choice": [{"max_features": "auto", "min_samples_leaf": "auto", "leaf_smoothing": "auto"}],
            "choice, warm start": [{"max_features": "auto", "warm_start": True}],
            "out of bag": [{"oob_score": True}],
            "out-of-bag scorer": [{"oob_score": "r2"}],
            "kept data": [{"keep_training_data": True}],
            "importances": [{"variable_importance": "mda_raw"}],
            "early stopping": [{**STOPS, "scoring": scoring}
                               for scoring in some(["loss", "r2", looks_at_rows], 2, first=1)],
            "refit": [{**STOPS, **chosen}
                      for chosen in ({"refit": True}, {"validation_folds": 3, "scoring": looks_at_rows})],
            "bags": [{"n_bags": 2, "max_features": 0.5}]
            + [{**STOPS, "n_bags": 3, "subsample": 0.5, **chosen}
               for chosen in some([{"validation_folds": 2, "scoring": "r2"}, {"validation_fraction": None},
                                   {"refit": False}], 2)],
            "bags, checkpoint": [{"n_bags": 2, "max_features": 0.5}],
            "bags, warm start": [{"n_bags": 2, "max_features": 0.5, "warm_start": True}],
            "dforest's defaults": [{"defaults": "dforest", "max_iter": "auto", "learning_rate": 0.5, "max_leaf_nodes": 4}],
            "refit, warm start": [{"early_stopping": True, "warm_start": True, **chosen}
                                  for chosen in ({"refit": True}, {"validation_folds": 3})],
            "column costs": [{"feature_costs": [0, 5.0, 0, 1e9]},
                             {"monotone_penalty": 2.0, "monotonic_cst": [1, 0, 0, -1], "feature_costs": {1: 3}}],
            "chosen cuts": [{"splitter": "random", "categorical_features": [2]},
                            {"forced_splits": {"feature": 1, "threshold": 0.1, "left": {"feature": 0, "threshold": 0.0}}}],
            "least gain": [{"min_gain_to_split": 0.5, "max_leaf_nodes": 9}],
            "own loss": [{"loss": OwnSquares()}, {"loss": OwnSquares(is_constant=True)}],
            "own leaves": [{"loss": OwnLeaves()}, {"loss": OwnLeaves(), "monotonic_cst": [1, 0, 0, -1], "subsample": 0.7}],
            "own intercept": [{"loss": OwnIntercept()}, {"loss": OwnRange()}],
        }[feature]  # fmt: skip

    def maker(chosen, name=name):
        def make(device=None):
            model = getattr(dforest, name)(**{"random_state": 0, "device": device, **own, **chosen})
            return model.set_callbacks(CALLBACKS[feature](folder)) if feature in CALLBACKS else model

        return make

    fits = [(maker(chosen), given) for chosen in parameters]
    if feature == "classes":  # of which there is one, or one has no weight
        fits += [(make, given | more) for make, given in fits for more in ({"y": 0 * CLASSES}, {"sample_weight": CLASSES / 2})]
    if feature == "draws" and is_forest:
        weighted = {"y": CLASSES, "sample_weight": RNG.integers(1, 4, N) / 2}
        for way in WAYS:
            groups = {"groups": np.arange(N) * 7 % 90} if way == "group" or getattr(way, "needs_groups", False) else {}
            fits.append((maker({"bootstrap": way, "oob_score": True}, classifier), {"X": X, **weighted, **groups}))
    if feature == "label order":
        fits += [(maker(chosen, classifier), given | {"y": CLASSES}) for chosen in parameters]
    if feature in ("checkpoint", "early stopping", "refit", "kept data", "bags"):
        fits.append((fits[-1][0], given | {"X": SPARSE}))
    if feature == "several outputs":
        labels = np.column_stack([CLASSES if is_forest else CLASSES > 0, BOTH[:, 1] > 0])
        fits += [(maker(chosen, classifier), given | {"y": labels}) for chosen in parameters]
    return fits


def fitted(model, given):
    """The model, fitted to what `fit` takes, or by ranks to partitions of it; once more where it is to go on."""
    fit = (lambda: model._fit_partitions(lambda rank: given)) if isinstance(given, list) else lambda: model.fit(**given)
    fit()
    if model.get_params().get("warm_start"):
        model.set_params(**{name: 5 for name in ("n_estimators", "max_iter") if name in model.get_params()})
        fit()
    return model


def fit_at(place, make, given):
    """The fitted models of a place, and the rows that each has."""
    if place != RANKS:
        return [(fitted(make("sycl" if place == DEVICE else None), given), slice(None))]

    def fit(communicator):
        pieces = [(i, slice(*CUT.edges[i : i + 2])) for i in np.flatnonzero(CUT.owner == communicator.rank)]
        own = [Partition.of(i, {name: values[rows] for name, values in given.items()}) for i, rows in pieces]
        with config_context(communicator=communicator):
            return fitted(make(), own)

    found = ThreadGroup(2).run(fit)
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return [(model, CUT.rows(rank)) for rank, model in enumerate(found)]


def cases():
    for feature, about in FEATURES.items():
        for kind in about.kinds:
            yield feature, kind


def said(model, X):
    """All that a fitted model says of rows, as bytes by the name of the method."""
    methods = "predict", "predict_proba", "decision_function", "score_samples", "apply", "transform"
    answers = {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
    if hasattr(model, "predict_survival_function"):
        answers["predict_survival_function"] = model.predict_survival_function(X, return_array=True)
    return {name: pickle.dumps(answer.toarray() if issparse(answer) else answer) for name, answer in answers.items()}


def attributes(model, free):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name not in ("fit_report_", *free)}


def assert_same_model(alone, found, X, what, free=(), rows=slice(None)):
    """What a fit leaves is the same to the bit, but for some attributes; and so is what is said of rows.

    rows : those that the other fit had, of which it has estimates
    """
    assert not differences(alone, found), what
    a, b = alone.forest_, found.forest_
    assert (a.seeds.tolist(), a.plans, a.objective) == (b.seeds.tolist(), b.plans, b.objective), what
    expected, others = (attributes(model, ("forest_", *free)) for model in (alone, found))
    assert expected.keys() == others.keys(), what
    for name, value in expected.items():
        if name in OF_ROWS:
            value = [part[rows] for part in value] if isinstance(value, list) else value[rows]
        np.testing.assert_equal(others[name], value, (what, name))
    assert said(alone, X) == said(found, X), what


def few(asked):
    """What a test goes through: all that is asked for in the long ring, and the first two and the last in the short one."""
    return asked if rings.ALL else asked[:2] + asked[2:][-1:]


@pytest.mark.parametrize(("feature", "kind"), list(cases()))
def test_everywhere_the_model_of_the_processor_or_the_error_of_the_table(feature, kind, tmp_path):
    for make, given in few(asked(feature, kind, tmp_path)):
        alone = None
        for place in PLACES:
            refusal = refusals_at(kind, place).get(feature)
            with standing_in(strict_device()):
                if refusal is not None:
                    with pytest.raises(ValueError) as error:
                        fit_at(place, make, given)
                    assert refusal.reason in str(error.value) and refusal.allowed in str(error.value)
                    continue
                for found, rows in fit_at(place, make, given):
                    alone = alone or found
                    assert_same_model(alone, found, given["X"][:50], place, rows=rows)


def takes_warm_start(model):
    """Whether the trees of a fit with fewer ones are the first trees of this fit, by `warm_start`."""
    parameters = model.get_params()
    is_searched = parameters.get("early_stopping") is True or parameters.get("max_iter") == "auto"
    has_statistics = getattr(model, "categorical_split_", None) == "order"
    is_chosen = hasattr(model, "best_params_")
    return not (is_searched or has_statistics or is_chosen or parameters["warm_start"] or parameters.get("n_bags", 1) > 1)


def in_parts(make, given, path, warm_start):
    """Fits of which each goes on with the trees of one that ended before: by `warm_start`, and from a checkpoint."""
    model = make()
    n_trees = "max_iter" if "max_iter" in model.get_params() else "n_estimators"
    n = model.get_params()[n_trees]
    if warm_start:
        model.set_params(warm_start=True, **{n_trees: n - 1}).fit(**given)
        yield model.set_params(**{n_trees: n}).fit(**given)
    make().set_callbacks(Checkpoint(path, every=1), StopAfter(2)).fit(**given)
    yield make().set_callbacks(Checkpoint(path)).fit(**given)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize(("feature", "kind"), list(cases()))
def test_the_model_is_the_same_however_it_is_grown_and_kept(feature, kind, tmp_path):
    """On several threads, of sparse rows, in parts; copied, and in a file."""
    if feature in refusals_at(kind, PROCESSOR):
        return
    for number, (make, given) in enumerate(few(asked(feature, kind, tmp_path))):
        X, path = given["X"], tmp_path / f"{number}.model"
        alone = fitted(make(), given)
        assert_same_model(alone, fitted(make().set_params(n_jobs=3), given), X, "threads")
        takes_sparse = feature != "linear leaves" and not (feature == "oblique" and kind == BOOSTING)
        if not issparse(X) and takes_sparse:
            assert_same_model(alone, fitted(make(), given | {"X": csr_matrix(X)}), X, "sparse rows")
        goes_on = not getattr(alone, "_skl_callbacks", None) and not alone.get_params()["warm_start"]
        for found in in_parts(make, given, tmp_path / f"{number}", takes_warm_start(alone)) if goes_on else ():
            assert_same_model(alone, found, X, "parts", ("refit_", "validation_folds_"))
        alone.save(path)
        for found in copy.deepcopy(alone), pickle.loads(pickle.dumps(alone)), dforest.load(path, components=COMPONENTS):
            assert_same_model(alone, found, X, "copies")


def test_the_page_is_the_table():
    if os.environ.get("DFOREST_RENEW_COMBINATIONS"):
        PAGE.write_text(support.page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == support.page()


def test_the_table_is_whole():
    """Each refusal is of a feature that its kinds have, and has a way to be told from a fit."""
    for refusal in support.REFUSALS:
        about = FEATURES[refusal.feature]
        assert set(refusal.places) <= set(PLACES) and set(refusal.kinds) <= set(KINDS)
        assert set(refusal.kinds) & set(about.kinds)
