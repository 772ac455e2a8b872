"""Model files give back the estimator that was saved, to the bit, whatever it is."""

import os
import pickle
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    make_scorer,
    mean_absolute_error,
)

import dforest
from dforest.errors import ModelFileError
from dforest.interchange import pickles
from dforest.splitter import DenseSplitter, PythonSplitter, Test

X, Y = load_iris(return_X_y=True)
KINDS = [
    *(f"{name}{task}" for name in ("RandomForest", "ExtraTrees", "HistGradientBoosting") for task in ("Classifier", "Regressor")),
    *(f"{name}{task}" for name in ("DecisionTree", "ExtraTree") for task in ("Classifier", "Regressor")),
    "IsolationForest",
    "RandomTreesEmbedding",
]
WAYS = [(serving, mmap) for serving in (True, False) for mmap in (True, False)]


def model_of(kind, **parameters):
    model = getattr(dforest, kind)(random_state=0, **parameters)
    sizes = {name: 5 for name in ("n_estimators", "max_iter") if name in model.get_params() and name not in parameters}
    return model.set_params(**sizes)


def predictions(model, rows):
    names = ("predict", "predict_proba", "decision_function", "score_samples", "apply", "transform")
    found = {name: getattr(model, name)(rows) for name in names if hasattr(model, name)}
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in found.items()}


def assert_equal(one, other, what):
    """Whether two values are the same, of the same types, to the bit."""
    if isinstance(other, np.ndarray):
        assert isinstance(one, np.ndarray) and one.dtype == other.dtype and one.shape == other.shape, what
        assert one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes(), what
        return
    assert type(one) is type(other), what
    if isinstance(other, list | tuple):
        assert len(one) == len(other), what
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_equal(a, b, f"{what}[{i}]")
    elif isinstance(other, dict):
        assert set(one) == set(other), what
        for name in other:
            assert_equal(one[name], other[name], f"{what}[{name!r}]")
    elif hasattr(other, "__getstate__") and type(other).__module__.startswith("dforest.") and "parameters" not in dir(other):
        assert_equal(one.__getstate__() or vars(one), other.__getstate__() or vars(other), what)
    elif isinstance(other, float):
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), what
    elif not isinstance(other, np.random.RandomState):
        assert one == other, what


def assert_comes_back(model, rows, path, components=()):
    expected = predictions(model, rows)
    for serving, mmap in WAYS:
        model.save(path, serving=serving)
        again = dforest.load(path, mmap=mmap, components=components)
        assert type(again) is type(model)
        assert_equal(predictions(again, rows), expected, f"serving={serving}, mmap={mmap}")
        assert_equal(again.__getstate__(), model.__getstate__(), "state")
    return again


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_each_estimator(kind, dtype, tmp_path):
    rows = X.astype(dtype)
    rows[::7, 1] = np.nan
    assert_comes_back(model_of(kind).fit(rows, Y), rows, tmp_path / "model.safetensors")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith("Classifier")])
@pytest.mark.parametrize(
    "labels",
    [
        [10, 20, 30], [-1.0, 0.0, 7.0], ["é", "b\x00c", "long" * 20], [False, True, True],
        np.array(["a", "b", "c"], object), np.array([1, 2, 3], np.uint8), np.array(["x", "y", "z"], "U90"),
    ],
    ids=str,
)  # fmt: skip
def test_labels(kind, labels, tmp_path):
    model = model_of(kind).fit(X, np.asarray(labels)[Y])
    assert_comes_back(model, X, tmp_path / "model.safetensors")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_a_frame(kind, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "µ", "a b", '"'])
    frame["µ"] = pd.Categorical(frame["µ"].round().astype(str))
    frame["a b"] = pd.Categorical(frame["a b"].round().astype(int), ordered=True)
    frame['"'] = pd.Categorical(frame['"'].round(1))
    again = assert_comes_back(model_of(kind).fit(frame, Y), frame, tmp_path / "model.safetensors")
    assert again.feature_names_in_.tolist() == ["a", "µ", "a b", '"']


OPTIONS = {  # what files keep in ways of their own; tests/test_support.py keeps models of all other kinds
    "RandomForestClassifier": [
        {"voting": "hard"}, {"keep_training_data": True, "class_weight": "balanced_subsample"},
        {"class_weight": {0: 1.0, 1: 2.5, 2: 0.5}}, {"oob_score": balanced_accuracy_score},
        {"oob_score": get_scorer("roc_auc_ovr")}, {"oob_score": partial(f1_score, average="macro")},
        {"oob_score": make_scorer(balanced_accuracy_score)}, {"random_state": np.random.RandomState(3)},
        {"criterion": "entropy", "categorical_features": np.array([False, True, False, False])},
        {"splitter": DenseSplitter, "method": "dense"}, {"splitter": DenseSplitter(), "method": "dense", "ccp_alpha": 0.01},
    ],
    "RandomForestRegressor": [
        {"monotonic_cst": {"x": 1}}, {"max_leaf_nodes": 4, "max_depth": np.int64(3)}, {"oob_score": mean_absolute_error},
    ],
    "HistGradientBoostingRegressor": [{"interaction_cst": [{0, 1}, {2, 3}], "monotonic_cst": [1, 0, 0, -1]}],
    "HistGradientBoostingClassifier": [{"early_stopping": True, "scoring": get_scorer("f1_macro")}],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("kind, parameters", [(kind, given) for kind, all_given in OPTIONS.items() for given in all_given])
def test_options(kind, parameters, tmp_path):
    model = getattr(dforest, kind)(**{"random_state": 0, **parameters})
    if "max_iter" in model.get_params() and "max_iter" not in parameters:
        model.set_params(max_iter=4)
    elif "n_estimators" in model.get_params():
        model.set_params(n_estimators=6)
    rows = pd.DataFrame(X, columns=list("xyzw")) if parameters.get("monotonic_cst") == {"x": 1} else X
    model.fit(rows, Y)
    for name in ("oob_score", "scoring"):  # scorers are equal if they are the same object alone
        if isinstance(parameters.get(name), partial | type(get_scorer("f1"))):
            model.save(tmp_path / "model.safetensors")
            again = dforest.load(tmp_path / "model.safetensors")
            assert repr(getattr(again, name)) == repr(parameters[name])
            assert_equal(predictions(again.fit(rows, Y), rows), predictions(model, rows), "predictions of another fit")
            return
    assert_comes_back(model, rows, tmp_path / "model.safetensors")
    others = set(skops.io.get_untrusted_types(data=skops.io.dumps(model))) - set(dforest.skops_types())
    assert not [name for name in others if name.startswith("dforest.")]
    assert b"communicator" not in pickle.dumps(model)  # which works in this process alone


def test_what_follows_from_trees(tmp_path):
    """Importances, pruning, a warm start and quantiles after loading are those of the estimator that was saved."""
    given = model_of("RandomForestRegressor", keep_training_data=True).fit(X, Y)
    given.save(tmp_path / "model")
    path = tmp_path / "model"
    assert np.array_equal(dforest.load(path).feature_importances_, given.feature_importances_)
    assert np.array_equal(dforest.load(path).predict_quantiles(X, [0.1, 0.5]), given.predict_quantiles(X, [0.1, 0.5]))
    assert np.array_equal(dforest.load(path).decision_path(X)[0].toarray(), given.decision_path(X)[0].toarray())
    assert np.array_equal(dforest.load(path).oob_importance(X, Y).importances, given.oob_importance(X, Y).importances)
    longer = [model.set_params(n_estimators=9, warm_start=True).fit(X, Y) for model in (dforest.load(path), given)]
    assert np.array_equal(*(model.predict(X) for model in longer))
    tree = given.estimators_[1]
    tree.save(path)
    assert np.array_equal(dforest.load(path).predict(X), tree.predict(X))
    pruned = tree.prune(X, Y, inplace=False)
    pruned.save(path)
    assert np.array_equal(dforest.load(path).apply(X), pruned.apply(X))
    again = pickle.loads(pickle.dumps(dforest.load(path)))
    assert np.array_equal(again.predict(X), pruned.predict(X))


def test_trees_stay_in_the_file_until_they_are_asked_for(tmp_path):
    model = model_of("RandomForestClassifier").fit(X, Y)
    model.save(tmp_path / "model")
    again = dforest.load(tmp_path / "model")
    again.predict(X)
    again.predictor().predict(X)
    assert "feature" not in vars(again.forest_)
    packed = again.forest_.packed()
    assert packed.arrays().slots.ctypes.data % 64 == 0 and not packed.arrays().slots.flags.owndata
    again.feature_importances_  # noqa: B018
    assert "feature" in vars(again.forest_) and again.forest_.packed() is packed
    with pytest.raises(AttributeError, match="no attribute 'features'"):
        again.forest_.features  # noqa: B018


class Halves(PythonSplitter):
    """Cuts in the middle; at odd nodes by a test of its own."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def find_split(self, node):
        limit = {0: 2.5 * self.scale, 1: 4.8}.get(node.depth)
        return Test([2.0, limit], 2) if node.depth == 0 or node.depth == 1 and node.n_draws > 60 else None

    def goes_left(self, payload, rows):
        return rows[:, int(payload[0])] <= payload[1]


class Forest(dforest.RandomForestClassifier):
    """A class of the user's."""


def test_components_of_ones_own(tmp_path):
    path = tmp_path / "model"
    for splitter in (Halves, Halves(scale=0.75)):
        model = model_of("RandomForestClassifier", splitter=splitter).fit(X, Y)
        again = assert_comes_back(model, X, path, [Halves])
        assert again.splitter is Halves if splitter is Halves else again.splitter.scale == 0.75
        with pytest.raises(ModelFileError, match=r"it needs 'Halves', which is not part of dforest; .* load: components=\["):
            dforest.load(path)
    model = Forest(4, random_state=0, oob_score=False).fit(X, Y)
    assert_comes_back(model, X, path, [Forest])
    with pytest.raises(ModelFileError, match="it needs 'Forest'"):
        dforest.load(path)
    with pytest.raises(ModelFileError, match="components has .*, but the file needs a class of estimators"):
        dforest.load(path, components=[type("Forest", (), {})])
    with pytest.raises(ValueError, match="components holds 3; allowed are classes and functions"):
        dforest.load(path, components=[3])


@pytest.mark.parametrize("module", ["dforest.spmd.estimators", "dforest.dask"])
def test_estimators_that_fit_elsewhere_are_written_as_their_base(module, tmp_path):
    model = model_of("RandomForestRegressor").fit(X, Y)
    elsewhere = import_module(module).RandomForestRegressor()
    vars(elsewhere).update(vars(model))
    elsewhere.save(tmp_path / "model")
    again = dforest.load(tmp_path / "model")
    assert type(again) is dforest.RandomForestRegressor and np.array_equal(again.predict(X), model.predict(X))


def test_requested_metadata_comes_back(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = model_of("RandomForestClassifier").set_fit_request(sample_weight=True).set_score_request(sample_weight="w")
        model.fit(X, Y).save(tmp_path / "model")
        again = dforest.load(tmp_path / "model")
        assert str(again.get_metadata_routing()) == str(model.get_metadata_routing())


def test_output_of_an_embedding(tmp_path):
    model = model_of("RandomTreesEmbedding", sparse_output=False).set_output(transform="pandas").fit(X)
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(dforest.load(tmp_path / "model").transform(X), model.transform(X))


def test_bad_arguments(tmp_path):
    model = model_of("RandomForestClassifier").fit(X, Y)
    with pytest.raises(ValueError, match=r"path=3\.5; allowed are strings and path-like objects"):
        model.save(3.5)
    with pytest.raises(ValueError, match=r"path=3\.5; allowed are"):
        dforest.load(3.5)
    with pytest.raises(ValueError, match="mmap='r'; allowed are True and False"):
        dforest.load(tmp_path / "none", mmap="r")
    with pytest.raises(ValueError, match="serving='yes'; allowed are True and False"):
        model.save(tmp_path / "model", serving="yes")
    with pytest.raises(FileNotFoundError):
        dforest.load(tmp_path / "none")
    with pytest.raises(OSError):
        model.save(tmp_path / "no folder" / "model")
    model.classes_ = object()
    with pytest.raises(ValueError, match=r"attributes\.classes_=<object .*> can't be written to a model file; allowed are"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_regular_file(tmp_path):
    """A folder, a pipe, and a link to one stay as they are, with nothing beside them; a link to a file is followed."""
    model, pipe, link = model_of("DecisionTreeClassifier").fit(X, Y), tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, os.fsencode(pipe)):
        for act in (model.save, dforest.load):
            with pytest.raises(ValueError, match=r"'.*(pipe|link)' is a device, a pipe or a socket; allowed are regular files"):
                act(path)
    for act in (model.save, dforest.load):
        with pytest.raises(ValueError, match=r"path='.*' is a folder; allowed are regular files"):
            act(tmp_path)
    assert pipe.is_fifo() and sorted(os.listdir(tmp_path)) == ["link", "pipe"]
    link.unlink()
    link.symlink_to(tmp_path / "file")
    for path in (link, os.fsencode(tmp_path / "file")):
        model.save(path)
        assert np.array_equal(dforest.load(path).predict(X), model.predict(X))
    assert link.is_symlink()


def test_equal_fits_have_equal_files(tmp_path):
    files = []
    for name in "ab":
        model_of("ExtraTreesClassifier").fit(X, Y).save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("kind", KINDS)
def test_other_ways_to_store(kind, tmp_path):
    """joblib, with arrays mapped from its file or not, and skops."""
    model = model_of(kind).fit(X, Y)
    expected = predictions(model, X)
    joblib.dump(model, tmp_path / "joblib")
    again = [joblib.load(tmp_path / "joblib", mmap_mode=mode) for mode in (None, "r")]
    skops.io.dump(model, tmp_path / "skops")
    again.append(skops.io.load(tmp_path / "skops", trusted=dforest.skops_types()))
    for one in again:
        assert_equal(predictions(one, X), expected, "predictions")
        assert_equal(one.__getstate__(), model.__getstate__(), "state")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_metrics_that_skops_asks_about():
    """`doc/files.md` names what has to be trusted for a metric; a scorer's name needs nothing."""
    y = np.where(Y > np.median(Y), "yes", "no")
    metric = "sklearn.metrics._ranking.average_precision_score"
    for score, names in (
        ("average_precision", []),
        (average_precision_score, [metric]),
        (partial(average_precision_score, pos_label="yes"), ["functools.partial", metric]),
    ):
        stored = skops.io.dumps(dforest.RandomForestClassifier(5, oob_score=score).fit(X, y))
        assert sorted(set(skops.io.get_untrusted_types(data=stored)) - set(dforest.skops_types())) == names
        skops.io.loads(stored, trusted=[*dforest.skops_types(), *names])


def test_in_a_folder(tmp_path):
    """As tools lay models out: the file beside others, moved with its folder, and loaded by another process."""
    model = model_of("RandomForestClassifier").fit(X, Y)
    (tmp_path / "model").mkdir()
    model.save(tmp_path / "model" / "model.safetensors")
    (tmp_path / "model").rename(tmp_path / "moved")
    program = "import sys, dforest; print(dforest.load(sys.argv[1]).predict_proba([[5.1, 3.5, 1.4, 0.2]]).tolist())"
    command = [sys.executable, "-P", "-c", program, str(tmp_path / "moved" / "model.safetensors")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.strip() == str(model.predict_proba([[5.1, 3.5, 1.4, 0.2]]).tolist())


FIXTURES = Path(__file__).parent / "files"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.safetensors")), ids=lambda path: path.stem)
def test_files_of_earlier_versions(path):
    """Each file was written with predictions beside it (see `files/write.py`), which later versions must give too."""
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as known:
        for mmap in (True, False):
            found = predictions(dforest.load(path, mmap=mmap), known["X"])
            for name in set(known) - {"X"}:
                assert np.array_equal(found[name], known[name]), name


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "DecisionTreeRegressor", "HistGradientBoostingClassifier"])
def test_pickles_that_name_modules_by_their_earlier_names(kind):
    """Protocol 0 has the names of modules as text."""
    model = getattr(dforest, kind)(random_state=0).fit(X, Y)
    stored, moved = pickle.dumps(model, 0), 0
    for old, new in pickles._MOVED.items():
        moved += stored.count(f"c{new}\n".encode())
        stored = stored.replace(f"c{new}\n".encode(), f"c{old}\n".encode())
    for name in ("forest", "boosting"):  # whose modules have become packages
        stored = stored.replace(f"cdforest.estimators.{name}.{name}\n".encode(), f"cdforest.estimators.{name}\n".encode())
    assert moved >= 2
    assert np.array_equal(pickle.loads(stored).predict(X), model.predict(X))


def test_earlier_names_lead_to_what_was_there():
    for old, new in pickles._MOVED.items():
        assert import_module(old) is import_module(new)
        assert import_module(new).__spec__.name == new
    for old, name in [("interop", "Tree"), ("fit_report", "FitReport"), ("shap_values", "ShapValues"), ("rows", "RowShare"),
                      ("sycl.devices", "DeviceInfo"), ("estimators.features", "Features"), ("estimators.ensemble", "Batch"),
                      ("report.curve", "Trend"), ("estimators.memory", "FitMemory")]:  # fmt: skip
        assert hasattr(sys.modules[f"dforest.{old}"], name)
