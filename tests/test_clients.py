"""Other libraries take dforest's models: those that go by the classes of scikit-learn's, once they know of dforest's.

Tests of libraries that `pip install '.[clients]'` brings are skipped without them, unless DFOREST_TEST_CLIENTS is "required".
"""

import os
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shap
import skops.io
from helpers.conversion import models
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io.exceptions import UntrustedTypesFoundException

import dforest
from dforest.interchange import clients
from dforest.sampling import BlockSampling, RowSampling, StratifiedSampling, WeightedSampling
from dforest.splitter import HistSplitter, PythonSplitter

X, Y = load_iris(return_X_y=True, as_frame=True)
CANCER, BENIGN = load_breast_cancer(return_X_y=True, as_frame=True)
CANCER = CANCER.iloc[:, :6]
PERSONS, PROGRESS = load_diabetes(return_X_y=True, as_frame=True)


def client(name):
    """The module of another library, which is needed or missing."""
    return import_module(name) if os.environ.get("DFOREST_TEST_CLIENTS") == "required" else pytest.importorskip(name)


def forests():
    """A classifier for `CANCER` and a regressor for `PERSONS`."""
    options = {"max_depth": 3, "random_state": 0}
    return (
        dforest.RandomForestClassifier(6, **options).fit(CANCER, BENIGN),
        dforest.RandomForestRegressor(6, **options).fit(PERSONS, PROGRESS),
    )


@pytest.fixture
def with_shap():
    with dforest.register_shap():
        yield


# shap


def test_shap_takes_estimators(with_shap):
    rows = np.random.default_rng(0).normal(size=(20, 6))
    for name, estimator in models(n=150):
        chosen = shap.Explainer(estimator)
        assert type(chosen) is shap.TreeExplainer, name
        values = shap.TreeExplainer(estimator.to_shap()).shap_values(rows)
        assert np.array_equal(shap.TreeExplainer(estimator).shap_values(rows), values), name
        assert np.array_equal(chosen(rows).values, values), name
        against = shap.TreeExplainer(estimator, rows[:10]).shap_values(rows, check_additivity=False)
        ours = estimator.shap_values(rows, rows[:10]).values.reshape(values.shape)
        assert against == pytest.approx(ours, abs=1e-5 * max(1.0, np.abs(ours).max())), name  # shap's are of float32


def test_shap_is_as_it_was():
    forest = forests()[0]
    before = shap.explainers._tree.TreeEnsemble.__init__
    first = dforest.register_shap()
    second = dforest.register_shap()
    assert shap.explainers._tree.TreeEnsemble.__init__.__wrapped__ is before
    second.close()  # it has changed nothing
    shap.TreeExplainer(forest)
    shap.TreeExplainer(RandomForestClassifier(2, random_state=0).fit(CANCER, BENIGN))
    first.close()
    assert shap.explainers._tree.TreeEnsemble.__init__ is before
    with pytest.raises(Exception, match="Model type not yet supported by TreeExplainer"):
        shap.TreeExplainer(forest)


def test_a_version_that_is_not_known(monkeypatch):
    monkeypatch.delattr(shap.explainers._tree.TreeEnsemble, "__init__")
    with pytest.raises(AttributeError, match="TreeEnsemble has no __init__, which was to be wrapped: dforest does not know"):
        dforest.register_shap()


def test_shap_takes_categories(with_shap):
    frame = CANCER.assign(size=pd.cut(CANCER["mean radius"], 4, labels=[4, 9, 1, 2], ordered=False))
    forest = dforest.RandomForestRegressor(5, max_depth=4, random_state=0).fit(frame, CANCER["mean area"])
    values = shap.TreeExplainer(forest).shap_values(frame[:20])
    assert values == pytest.approx(forest.shap_values(frame[:20]).values, abs=1e-9)


def labelled_rows():
    """A frame with text without and with an order, missing values among it, and labels that are new in its last rows."""
    rng = np.random.default_rng(0)
    text, size = np.array(["low", "middle", "high"]), np.array(["S", "M", "L"])
    frame = pd.DataFrame({"place": pd.Categorical(rng.choice([*"abcd", None], 300)), "x": rng.normal(size=300)})
    frame["level"] = pd.Categorical(text[rng.integers(0, 3, 300)], text, ordered=True)
    return frame.assign(size=size[rng.integers(0, 3, 300)]), (frame["place"] == "a") + frame["x"] + (frame["level"] == "low")


@pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")
@pytest.mark.parametrize("kind", ["HistGradientBoostingRegressor", "RandomForestClassifier", "DecisionTreeRegressor"])
def test_shap_takes_text(kind, with_shap):
    frame, y = labelled_rows()
    estimator = getattr(dforest, kind)(categorical_features="auto", random_state=0)
    estimator.set_params(**({"max_iter": 5} if "Hist" in kind else {"max_depth": 4}))
    estimator.fit(frame, y > 0.5 if kind.endswith("Classifier") else y)
    rows = frame[:40].assign(place=frame["place"].cat.rename_categories({"b": "new"}))
    ours, against = estimator.shap_values(rows).values, estimator.shap_values(rows, frame[:20]).values
    explainer = shap.TreeExplainer(estimator)
    assert explainer.shap_values(rows) == pytest.approx(ours, abs=1e-9)
    assert explainer.shap_values(rows.iloc[3]) == pytest.approx(ours[3], abs=1e-9)
    explanation = explainer(rows)
    assert explanation.values == pytest.approx(ours, abs=1e-9) and explanation.feature_names == list(frame.columns)
    assert explanation.data[0].tolist() == rows.iloc[0].tolist() and explanation.data[0, 3] in "SML"
    for one in (shap.TreeExplainer(estimator, frame[:20]), shap.Explainer(estimator, frame[:20])):
        assert type(one) is shap.TreeExplainer
        assert one.shap_values(rows, check_additivity=False) == pytest.approx(against, abs=1e-5)
    with pytest.raises(ValueError, match="match those that"):
        explainer.shap_values(rows[["x", "place", "level", "size"]])


def test_what_shap_cannot_take_is_an_error(with_shap, monkeypatch):
    monkeypatch.setattr(clients, "_SHAP_NODES", 4)
    forest = dforest.RandomForestClassifier(2, max_depth=2, random_state=0).fit(CANCER, BENIGN)
    with pytest.raises(ValueError, match="a tree of 7 nodes with a background.*allowed are 4 nodes: grow smaller trees"):
        shap.TreeExplainer(forest, CANCER[:5])
    shap.TreeExplainer(forest)


# skops


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in dforest.__all__ if hasattr(getattr(dforest, name), "get_params")),
        ("RandomForestClassifier", {"bootstrap": StratifiedSampling()}),
        ("RandomForestClassifier", {"bootstrap": WeightedSampling(), "splitter": HistSplitter()}),
        ("RandomForestRegressor", {"bootstrap": RowSampling(replace=False), "keep_training_data": True}),
        ("RandomForestRegressor", {"bootstrap": BlockSampling(5)}),
    ],
)
def test_skops_types_are_enough(name, options):
    for y in (Y, np.c_[Y, Y]):
        if y.ndim > 1 and ("Boosting" in name or "Auto" in name):
            continue
        if "Surviv" in name:
            y = np.c_[Y > 0, np.asarray(X)[:, 0]]
        if name == "PolicyTree":
            y = np.c_[Y, 1 - Y]
        estimator = getattr(dforest, name)(**options)
        small = {"n_estimators": 4, "max_iter": 4, "random_state": 0}
        estimator.set_params(**{name: value for name, value in small.items() if name in estimator.get_params()})
        given = {f"{name.lower()}__group": [len(Y)]} if "Ranker" in name else {}
        given = {f"{name.lower()}__treatment": np.arange(len(Y)) % 2} if "Causal" in name else given
        if "Uplift" in name:
            y, given = Y > 0, {f"{name.lower()}__treatment": np.arange(len(Y)) % 2}
        pipeline = make_pipeline(StandardScaler(), estimator).fit(X, y, **given)
        again = skops.io.loads(skops.io.dumps(pipeline), trusted=dforest.skops_types())
        act = "transform" if name == "RandomTreesEmbedding" else "predict"
        found, expected = getattr(again, act)(X), getattr(pipeline, act)(X)
        assert (found != expected).nnz == 0 if act == "transform" else np.array_equal(found, expected)


class Own(PythonSplitter):
    def best_cut(self, node):
        return None


def test_skops_types_are_dforests_alone():
    assert all(name.startswith("dforest.") for name in dforest.skops_types())
    forest = dforest.RandomForestClassifier(2, splitter=Own(), random_state=0)
    with pytest.raises(UntrustedTypesFoundException, match="Own"):
        skops.io.loads(skops.io.dumps(forest), trusted=dforest.skops_types())


# MLflow


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    mlflow = client("mlflow")
    client("mlflow.sklearn")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    return mlflow


@pytest.mark.slow
def test_mlflow_stores_models(mlflow):
    pipeline = make_pipeline(StandardScaler(), dforest.RandomForestClassifier(5, random_state=0)).fit(X, Y)
    for form, options in (("skops", {"skops_trusted_types": dforest.skops_types()}), ("cloudpickle", {})):
        mlflow.sklearn.save_model(pipeline, form, serialization_format=form, pip_requirements=["dforest"], **options)
        again = mlflow.sklearn.load_model(form)
        assert np.array_equal(again.predict_proba(X), pipeline.predict_proba(X))
        assert np.array_equal(mlflow.pyfunc.load_model(form).predict(X), pipeline.predict(X))


@pytest.mark.slow
def test_mlflow_logs_fits(mlflow):
    def runs_of(estimator):
        mlflow.sklearn.autolog(log_models=False, silent=True)
        try:
            before = set(mlflow.search_runs()["run_id"]) if len(mlflow.search_runs()) else set()
            estimator.fit(X, Y)
            runs = mlflow.search_runs()
            return runs[~runs["run_id"].isin(before)] if len(runs) else runs
        finally:
            mlflow.sklearn.autolog(disable=True)

    forest = dforest.RandomForestClassifier(5, max_depth=2, random_state=0)
    assert len(runs_of(forest)) == 0
    with dforest.register_mlflow():
        assert dforest.register_mlflow().close() is None
        found = runs_of(forest).iloc[0]
        assert found["params.n_estimators"] == "5" and found["params.max_depth"] == "2" and found["params.method"] == "hist"
        assert found["metrics.training_accuracy_score"] == forest.score(X, Y)
        found = runs_of(dforest.HistGradientBoostingClassifier(max_iter=3, random_state=0)).iloc[0]
        assert found["params.max_iter"] == "3"
    assert len(runs_of(forest)) == 0


# eli5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_eli5_explains_forests_and_trees(name, task):
    eli5 = client("eli5")
    dforest.register_eli5()
    size = {"n_estimators": 5} if name in ("RandomForest", "ExtraTrees") else {}
    estimator = getattr(dforest, f"{name}{task}")(max_depth=3, random_state=0, **size).fit(X.to_numpy(), Y)
    whole = eli5.explain_weights(estimator)
    weights = [entry.weight for entry in whole.feature_importances.importances]
    assert weights == sorted(estimator.feature_importances_, reverse=True)
    for row in (70, 110):
        rows = X.to_numpy()[row : row + 1]
        targets = eli5.explain_prediction(estimator, rows[0]).targets
        expected = estimator.predict_proba(rows)[0] if task == "Classifier" else estimator.predict(rows)
        assert len(targets) == len(expected)
        for target, value in zip(targets, expected, strict=True):
            parts = target.feature_weights.pos + target.feature_weights.neg
            assert sum(part.weight for part in parts) == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
def test_eli5_cannot_explain_votes():
    eli5 = client("eli5")
    dforest.register_eli5()
    forest = dforest.RandomForestClassifier(5, voting="hard", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match='voting="hard"; allowed is voting="soft"'):
        eli5.explain_prediction(forest, X.to_numpy()[0])


# dtreeviz, and explainerdashboard, which uses it and shap


@pytest.mark.slow
def test_dtreeviz_draws_trees():
    dtreeviz = client("dtreeviz")
    classifier, regressor = forests()
    boosted = dforest.HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=4, random_state=0).fit(PERSONS, PROGRESS)
    with pytest.raises(ValueError, match="Tree model must be in"):
        dtreeviz.model(classifier.estimators_[1], CANCER, BENIGN, feature_names=list(CANCER), class_names=["no", "yes"])
    with dforest.register_dtreeviz():
        for tree, rows, y in (
            (classifier.estimators_[1], CANCER, BENIGN),
            (regressor.estimators_[1], PERSONS, PROGRESS),
            (boosted.estimators_[1, 0], PERSONS, PROGRESS),
            (dforest.DecisionTreeClassifier(max_depth=2, random_state=0).fit(CANCER, BENIGN), CANCER, BENIGN),
        ):
            model = dtreeviz.model(tree, rows, y, feature_names=list(rows), target_name="y", class_names=["no", "yes"])
            drawn = model.shadow_tree
            assert drawn.nnodes() == tree.tree_.node_count
            assert drawn.get_node_samples()[0] == list(range(len(rows)))
            found = [drawn.predict(row) for row in rows.to_numpy()[:30]]
            assert np.allclose(found, tree.predict(rows[:30]))
        rows = CANCER.assign(size=BENIGN.astype("category"))
        tree = dforest.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, BENIGN)
        with pytest.raises(ValueError, match="column 'size' holds categories, and dtreeviz's trees only take numbers"):
            dtreeviz.model(tree, rows, BENIGN, feature_names=list(rows), class_names=["no", "yes"])


@pytest.mark.slow
def test_explainerdashboard(with_shap):
    dashboard = client("explainerdashboard")
    classifier, regressor = forests()
    with dforest.register_dtreeviz():
        for kind, forest, rows, y in (
            (dashboard.ClassifierExplainer, classifier, CANCER, BENIGN),
            (dashboard.RegressionExplainer, regressor, PERSONS, PROGRESS),
        ):
            explainer = kind(forest, rows[:20], y[:20])
            assert explainer.is_regression == (forest is regressor) and len(explainer.get_shap_values_df()) == 20
            assert type(explainer.shap_explainer) is shap.TreeExplainer
            assert len(explainer.get_decisionpath_df(0, 0)) > 1


# Libraries that use shap


@pytest.mark.slow
def test_shapash(with_shap):
    explainer = client("shapash").SmartExplainer(model=forests()[0])
    explainer.compile(x=CANCER[:20])
    assert type(explainer.explainer.backend.explainer) is shap.TreeExplainer


@pytest.mark.slow
def test_skforecast(with_shap):
    forecaster = client("skforecast.recursive").ForecasterRecursive(
        estimator=dforest.RandomForestRegressor(5, random_state=0), lags=4
    )
    series = pd.Series(np.sin(np.arange(80) / 5))
    forecaster.fit(series)
    lagged = forecaster.create_train_X_y(series)[0]
    values = shap.TreeExplainer(forecaster.estimator).shap_values(lagged)
    assert values == pytest.approx(forecaster.estimator.shap_values(lagged).values, abs=1e-9)


@pytest.mark.slow
def test_arfs(with_shap):
    forest = dforest.RandomForestClassifier(max_depth=3, random_state=0)
    leshy = client("arfs.feature_selection.allrelevant").Leshy(forest, n_estimators=10, max_iter=4, verbose=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(len(CANCER), 2))
    leshy.fit(CANCER.assign(noise=noise[:, 0], more=noise[:, 1]), BENIGN)
    assert not {"noise", "more"} & set(leshy.get_feature_names_out()) and leshy.importance == "shap"


@pytest.mark.slow
def test_dalex_by_trees(with_shap):
    explainer = client("dalex").Explainer(forests()[1], PERSONS, PROGRESS, verbose=False)
    found = explainer.predict_parts(PERSONS[:1], type="shap_wrapper", shap_explainer_type="TreeExplainer")
    assert np.shape(found.result) == (1, PERSONS.shape[1])


# Libraries that go by names of classes, but for which dforest's, or those of scikit-learn, are enough


@pytest.mark.slow
def test_generators_of_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # emlearn compiles there
    classifier, regressor = forests()
    m2cgen = client("m2cgen")
    with pytest.raises(NotImplementedError):
        m2cgen.export_to_python(regressor)
    code = {}
    exec(m2cgen.export_to_python(regressor.to_sklearn()), code)
    assert np.allclose([code["score"](row) for row in PERSONS.to_numpy()[:20]], regressor.predict(PERSONS[:20]))
    emlearn = client("emlearn")
    program = emlearn.convert(classifier, method="inline", dtype="float")
    agree = program.predict(CANCER.to_numpy()) == classifier.predict(CANCER)
    assert agree.mean() > 0.95  # it rounds thresholds and votes


# A recipe


@pytest.mark.slow
def test_flaml_by_the_recipe():
    """That of the page about other libraries."""
    automl, names = client("flaml.automl").AutoML, {"X": CANCER, "y": BENIGN}
    page = (Path(__file__).parents[1] / "doc" / "clients.md").read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(from flaml.*?)^```$", page, re.DOTALL | re.MULTILINE)[1], names)
    assert isinstance(names["automl"], automl)
    assert isinstance(names["automl"].model.estimator, dforest.RandomForestClassifier)
