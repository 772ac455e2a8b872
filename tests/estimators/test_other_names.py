"""Names of other libraries' parameters get an answer that says what does the same here."""

import re
from collections import Counter, defaultdict
from inspect import signature
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import InvalidParameterError

import dforest
from dforest import (
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators import other_names

BOOSTED = [HistGradientBoostingClassifier, HistGradientBoostingRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor]
# The parameters of LightGBM's page that say how a model is trained on a table, without those of files and networks.
LIGHTGBM = """objective boosting data_sample_strategy num_iterations learning_rate num_leaves num_threads device_type seed
deterministic force_col_wise force_row_wise histogram_pool_size max_depth min_data_in_leaf min_sum_hessian_in_leaf
bagging_fraction bagging_freq bagging_seed pos_bagging_fraction neg_bagging_fraction bagging_by_query feature_fraction
feature_fraction_bynode feature_fraction_seed extra_trees
early_stopping_round early_stopping_min_delta first_metric_only max_delta_step lambda_l1 lambda_l2 linear_lambda
min_gain_to_split drop_rate max_drop skip_drop top_rate other_rate min_data_per_group max_cat_threshold cat_l2 cat_smooth
max_cat_to_onehot monotone_constraints monotone_constraints_method feature_contri path_smooth interaction_constraints verbosity
max_bin min_data_in_bin bin_construct_sample_cnt enable_bundle use_missing zero_as_missing categorical_feature linear_tree
num_class is_unbalance scale_pos_weight boost_from_average alpha tweedie_variance_power metric n_estimators min_split_gain
min_child_weight min_child_samples subsample subsample_freq colsample_bytree reg_alpha reg_lambda class_weight random_state
n_jobs importance_type""".split()


def parameters_of(kinds):
    return {name for kind in kinds for name in signature(kind).parameters}


@pytest.mark.parametrize(("table", "kinds"), [(other_names._BOOSTED, BOOSTED), (other_names._FORESTS, FORESTS)])
def test_answers_are_parameters_or_sentences(table, kinds):
    known = parameters_of(kinds)
    for ours, theirs in table.items():
        assert ours in known or " " in ours, ours
        assert not known & set(theirs.split()), ours
    listed = Counter(name for theirs in table.values() for name in theirs.split())
    assert [name for name, n in listed.items() if n > 1] == []


@pytest.mark.parametrize("name", LIGHTGBM)
def test_all_of_lightgbm_has_an_answer(name):
    assert name in parameters_of(BOOSTED) or name in other_names.BOOSTED_NAMES
    for kind in BOOSTED:
        if name not in parameters_of([kind]):
            with pytest.raises(TypeError, match=rf"{kind.__name__}.__init__\(\) got an unexpected keyword argument '{name}'"):
                kind(**{name: 1})


PAGES = Path(__file__).parents[2] / "doc"


def test_the_page_about_boosting_libraries_says_the_same():
    text = (PAGES / "migration.md").read_text(encoding="utf-8")
    known, found = parameters_of(BOOSTED), []
    for row in re.search(r"^\| dforest \| LightGBM .*\n\|-.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1].splitlines():
        here, *elsewhere = row.strip("| ").split(" | ")
        ours = set(re.findall(r"`(\w+)`", here)) & known
        for name in re.findall(r"`(\w+)`", " ".join(elsewhere)) if ours else []:
            answer = other_names.BOOSTED_NAMES.get(name, name)
            if " " not in answer and not name.endswith("_"):  # results of other libraries end in _
                assert answer in ours, (name, answer, ours)
                found.append(name)
    assert len(found) > 60


def test_the_page_about_r_says_the_same():
    text = (PAGES / "migration_r.md").read_text(encoding="utf-8")
    known, told = parameters_of(FORESTS), defaultdict(list)
    for table in re.findall(r"^Parameters, with .*\n\n\|.*\n\|-.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            there, here = row.strip("| ").split(" | ")
            for name in re.findall(r"`([a-z][\w.]*)(?: = [^`]*)?`", there):
                told[name.replace(".", "_")].append(here)
    for name, cells in told.items():
        if not all(cell.startswith(("–", "nothing", "scikit-learn")) for cell in cells):
            answer = other_names.FOREST_NAMES.get(name) or name
            assert answer in known or " " in answer, name
            assert " " in answer or any(answer in cell for cell in cells), (name, answer, cells)
    assert len(told) > 50


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HistGradientBoostingClassifier(num_leaves=3), TypeError, r"'num_leaves'\. It is called max_leaf_nodes here$"),
        (lambda: HistGradientBoostingRegressor().set_params(eta=1), ValueError, r"got an .*'eta'. It is called learning_rate"),
        (lambda: HistGradientBoostingRegressor(rate_drop=0.1), TypeError, r"'rate_drop'\. It is called drop_rate here$"),
        (lambda: RandomForestClassifier(mtry=3), TypeError, r"It is called max_features here$"),
        (lambda: RandomForestRegressor(nodesize=5), TypeError, r"called min_samples_split here, with one more"),
        (lambda: RandomForestClassifier(holdout=True), TypeError, "Rows of weight 0 are left out of a fit: pass them to score"),
        (lambda: RandomForestRegressor(minprop=0.1), TypeError, "Splits are not chosen by rank statistics, as maxstat does"),
        (lambda: RandomForestRegressor(regularization_usedepth=True), TypeError, "called regularization_use_depth here$"),
        (lambda: RandomForestClassifier(unknown=3), TypeError, r"got an unexpected keyword argument 'unknown'$"),
        (lambda: DecisionTreeClassifier(num_trees=3), TypeError, r"got an unexpected keyword argument 'num_trees'$"),
        (lambda: DecisionTreeClassifier(n_estimators=3), TypeError, r"'n_estimators'\. It is a parameter of AutoF.*, "),
        (lambda: RandomForestClassifier(interaction_cst=[]), TypeError, "a parameter of HistGradientBoosting.*, .* and Hist"),
        (lambda: IsolationForest(criterion="gini"), TypeError, "a parameter of DecisionTreeClassifier, .*RandomForestClassifier"),
        (lambda: IsolationForest().set_params(splitter="best"), ValueError, "a parameter of DecisionTreeClassifier, "),
        (lambda: RandomForestRegressor(class_weight="balanced"), TypeError, "a parameter of DecisionTreeClassifier, "),
        (lambda: HistGradientBoostingClassifier(criterion="gini"), TypeError, "Boosted trees take a loss, which says what"),
        (lambda: HistGradientBoostingClassifier(criterion="gini"), TypeError, "Boosted trees take a loss, which says what"),
        (lambda: RandomForestRegressor(loss="squared_error"), TypeError, "Boosted trees take a loss; random forests and single"),
        (lambda: RandomForestRegressor(tree_method="exact"), TypeError, 'method="hist" grows .* method="dense" exactly'),
        (lambda: HistGradientBoostingRegressor(tree_method="hist"), TypeError, "always grown by bins, of which max_bins"),
        (lambda: RandomForestClassifier(1, 2), TypeError, r"positional argument"),
        (lambda: RandomForestClassifier().set_params(unknown=3), ValueError, r"Valid parameters are"),
    ],
)
def test_constructors_and_set_params(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_fit_names_the_estimator_and_what_does_the_same():
    with pytest.raises(TypeError, match=r"^HistGradientBoostingClassifier\.fit\(\) got .* 'eval_set'\. fit\(X_val="):
        HistGradientBoostingClassifier().fit([[1], [2]], [0, 1], eval_set=[])
    for kind in (RandomForestRegressor, DecisionTreeClassifier):
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\.fit\(\) got an unexpected keyword argument 'other'$"):
            kind().fit([[1], [2]], [0, 1], other=1)


@pytest.mark.parametrize(
    ("model", "ours"),
    [
        (RandomForestClassifier(variable_importance="permutation"), "mda_raw"),
        (RandomForestRegressor(criterion="mse"), "squared_error"),
        (HistGradientBoostingClassifier("binary"), "log_loss"),
        (HistGradientBoostingRegressor("regression_l1"), "absolute_error"),
    ],
)
def test_values(model, ours):
    with pytest.raises(InvalidParameterError, match=f"Got '.*' instead. It is called '{ours}' here$"):
        model.fit([[1], [2]], [0, 1])


def test_methods_name_no_private_classes():
    model = RandomForestRegressor(2, keep_training_data=True).fit([[1], [2]], [0, 1])
    for call in (model.predict, model.predict_quantiles, model.apply, model.proximity, model.save):
        with pytest.raises(TypeError, match=rf"^(RandomForestRegressor\.)?{call.__name__}\(\) got an unexpected"):
            call([[1]], unknown=1)


def test_signatures_stay():
    assert list(signature(RandomForestClassifier).parameters)[0] == "n_estimators"
    assert list(signature(HistGradientBoostingClassifier().fit).parameters)[:3] == ["X", "y", "sample_weight"]
    assert clone(RandomForestClassifier(7)).n_estimators == 7


@pytest.mark.parametrize(("kind", "call", "answer"), [
    (RandomForestClassifier, lambda model, X: model.predict(X, type="se"), "predict_interval, .* are methods of their own"),
    (RandomForestRegressor, lambda model, X: model.predict(X, predict_all=True), "estimators_ has the trees"),
    (RandomForestClassifier, lambda model, X: model.predict_proba(X, what="quantiles"), "are methods of their own"),
    (RandomForestRegressor, lambda model, X: model.predict_quantiles(X, quantiles=[0.5]), "It is called q here$"),
    (RandomForestRegressor, lambda model, X: model.predict_quantiles(X, q=[0.5], what=len), "forest_weights has the weights"),
    (HistGradientBoostingClassifier, lambda model, X: model.predict(X, raw_score=True), "decision_function of classifiers"),
    (HistGradientBoostingClassifier, lambda model, X: model.predict_proba(X, num_iteration=3), "n_iter is the number of"),
    (HistGradientBoostingRegressor, lambda model, X: model.predict(X, raw_score=True), "of regressors predictor"),
    (HistGradientBoostingRegressor, lambda model, X: model.predict(X, pred_contrib=True), "shap_values returns"),
])  # fmt: skip
def test_arguments_of_predict(kind, call, answer):
    what = rf"^{kind.__name__}.predict(_proba|_quantiles)?\(\) got an unexpected keyword argument '\w+'. "
    with pytest.raises(TypeError, match=f"{what}.*{answer}"):
        call(kind(), [[0.0]])


def test_results_of_other_libraries():
    forest, boosted = RandomForestClassifier(), HistGradientBoostingClassifier()
    for name in ("prediction_error", "oob_score_"):
        with pytest.raises(AttributeError, match=f"'RandomForestClassifier' object has no attribute '{name}'. oob_error_, or"):
            getattr(forest, name)
    with pytest.raises(AttributeError, match="has no attribute 'best_iteration'. best_iteration_ and best_score_ are there"):
        boosted.best_iteration  # noqa: B018
    for name, answer in (("trees_to_dataframe", "dforest.trees_to_dataframe"), ("save_model", "save writes a model file"),
                         ("feature_importance", "feature_importances_"), ("feature_name_", "feature_names_in_")):  # fmt: skip
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. .*{answer}"):
            getattr(boosted, name)
    with pytest.raises(AttributeError, match="has no attribute 'importance_pvalues'. There are no p-values"):
        forest.importance_pvalues  # noqa: B018
    for model, name in ((boosted, "oob_score_"), (forest, "nothing")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(model, name)


def test_names_of_other_packages():
    for name, answer in other_names.PACKAGE_NAMES.items():
        if name not in dforest.__all__:
            with pytest.raises(AttributeError, match=f"^module 'dforest' has no attribute '{name}'. {re.escape(answer)}$"):
                getattr(dforest, name)
        assert name not in dir(dforest) and set(re.findall(r"HistGradient\w+|\w+Display", answer)) <= set(dforest.__all__)
    with pytest.raises(AttributeError, match="'nothing'$"):
        dforest.nothing  # noqa: B018


@pytest.mark.parametrize(("name", "ours"), other_names.METRICS.items())
def test_metrics(name, ours):
    known = get_scorer_names()
    assert name not in known and (ours in known or ours == "loss")
    told = f"scoring='{name}' names no scorer; it is called '{ours}' here; allowed are"
    with pytest.raises(ValueError, match=told):
        HistGradientBoostingRegressor(scoring=name, early_stopping=True).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    with pytest.raises(ValueError, match=f"oob_score='{name}' names no scorer;" + f" it is called '{ours}'" * (ours != "loss")):
        RandomForestRegressor(2, oob_score=name).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)


@pytest.mark.parametrize("rate", [[0.1, 0.05], (0.1,), lambda n: 0.1 * 0.99**n])
def test_rates_of_each_iteration(rate):
    with pytest.raises(InvalidParameterError, match="is one number for all iterations of a fit; the page 'How do I"):
        HistGradientBoostingRegressor(learning_rate=rate).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(("parameters", "answer"), [
    ({"class_weight": (1, 3)}, r"Weights are given by class, as a dict such as \{'no': 1, 'yes': 3\}$"),
    ({"max_samples": [50, 50]}, r"bootstrap=StratifiedSampling\(...\) of dforest.sampling draws a number of rows from"),
    ({"criterion": "extratrees"}, 'splitter="random" draws thresholds at random$'),
    ({"criterion": "variance"}, "Got 'variance' instead.$"),
    ({"criterion": "maxstat"}, "A subclass of dforest.criterion.PythonCriterion scores splits as you like$"),
    ({"variable_importance": "impurity_corrected"}, "corrected_importance of dforest computes importances"),
])  # fmt: skip
def test_values_that_are_none(parameters, answer):
    with pytest.raises(InvalidParameterError, match=answer):
        RandomForestClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_all_unknown_names_are_told_at_once():
    lines = (
        r":\n  'num_leaves'. It is called max_leaf_nodes here\n  'nothing'\n  'reg_alpha'. It is called l1_regularization here$"
    )
    unknown = {"num_leaves": 9, "nothing": 1, "reg_alpha": 2}
    with pytest.raises(TypeError, match=r"\(\) got unexpected keyword arguments" + lines):
        HistGradientBoostingClassifier(**unknown, max_depth=3)
    model = HistGradientBoostingClassifier()
    with pytest.raises(ValueError, match=r"HistGradientBoostingClassifier.set_params\(\) got unknown parameters" + lines):
        model.set_params(max_depth=3, **unknown)
    assert model.max_depth is None
    with pytest.raises(TypeError, match="fit.. got an .* 'eval_metric'. It is called scoring here, and is a"):
        HistGradientBoostingClassifier().fit([[0.0]], [0], eval_metric="auc")
    with pytest.raises(TypeError, match=r"fit\(\) got an .* 'scoring'. It is a parameter of the estimator$"):
        HistGradientBoostingClassifier().fit([[0.0]], [0], scoring="roc_auc")
    with pytest.raises(InvalidParameterError, match="A loss of your own is a subclass of dforest.loss.PythonLoss"):
        HistGradientBoostingRegressor(loss=lambda y, raw: (raw - y, 1.0)).fit([[0.0], [1.0]], [0, 1])
