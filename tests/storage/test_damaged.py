"""Damaged model files, and such as were made to do harm: an error that says so, or the same predictions; never a crash."""

import json

import numpy as np
import pytest
from helpers import rings
from helpers.rings import examples
from sklearn.datasets import load_iris
from twins import model_files as twin

import dforest
from dforest.core.predict.packed import PackedForest
from dforest.errors import ModelFileError

X, Y = load_iris(return_X_y=True)


def models():
    rows = X.copy()
    rows[:, 1] = rows[:, 1].round()
    labels = np.array(list("abc"))[Y]
    yield dforest.RandomForestClassifier(3, max_depth=4, categorical_features=[1], random_state=0).fit(rows, labels)
    yield dforest.RandomForestRegressor(3, max_depth=4, random_state=0).fit(rows.astype(np.float32), X[:, 0])
    yield dforest.HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5, random_state=0).fit(rows, Y)
    few = {"n_estimators": 3, "max_depth": 4, "random_state": 0}
    times = np.column_stack([Y > 0, X[:, 0]])
    yield dforest.RandomSurvivalForest(**few).fit(rows, times)
    yield dforest.IsolationForest(3, categorical_features=[1], contamination=0.1, random_state=0).fit(rows)
    queries = np.arange(150) % 30 // 2
    yield dforest.HistGradientBoostingRanker(max_iter=2, max_leaf_nodes=5, random_state=0).fit(rows, Y, qid=queries)
    yield dforest.ExtraTreesRegressor(**few, keep_training_data=True, bootstrap=True).fit(rows, X[:, :2])


def looked_at(model):
    """What a file's model says in all ways that read it."""
    found = [model.predict(X), model.apply(X)] if hasattr(model, "apply") else [model.predict(X)]
    return [*found, *(model.forest_.as_dict()[name] for name in ("leaf_value", "leaf_weight", "link")), str(model.get_params())]


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("serving", [True, False])
def test_damaged_files(model, serving, tmp_path):
    path = tmp_path / "model"
    model.save(path, serving=serving)
    blob, expected, n_refused = path.read_bytes(), looked_at(model), 0
    rng = np.random.default_rng(0)
    n_changes = examples(300)
    for i in range(n_changes):
        path.unlink()
        path.write_bytes(twin.mutated(blob, rng))
        try:
            found = looked_at(dforest.load(path, mmap=i % 2 == 0))
        except ModelFileError:
            n_refused += 1
        else:
            assert same(found, expected)
    assert n_changes * 2 / 3 < n_refused
    assert n_refused < n_changes or not rings.ALL  # what nobody reads, padding say, may change


@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("change", [twin.with_other_number, lambda blob, rng: twin.signed(twin.mutated(blob, rng))])
def test_files_with_right_checksums(model, change, tmp_path):
    """What a file says may be another model then, but nothing goes wrong in other ways than Python's."""
    path = tmp_path / "model"
    model.save(path)
    blob, n_refused = path.read_bytes(), 0
    rng = np.random.default_rng(1)
    n_changes = examples(300)
    for i in range(n_changes):
        path.unlink()
        path.write_bytes(change(blob, rng))
        try:
            loaded = dforest.load(path, mmap=i % 2 == 0)
        except ModelFileError:
            n_refused += 1
            continue
        try:
            looked_at(loaded)
        except (ValueError, TypeError, IndexError):  # labels, say, of which there are fewer
            n_refused += 1
    assert n_changes / 10 < n_refused < n_changes


@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("is_wide", [False, True])
def test_slots_that_lead_nowhere(model, is_wide):
    """Each change of a slot is refused, or leaves trees whose rows all arrive."""
    forest = model.forest_
    baseline = None if forest.objective.baseline is None else np.array(forest.objective.baseline)
    packed = PackedForest(forest, *forest.packed_values("soft"), is_wide, baseline).arrays()
    assert packed.is_wide >= is_wide
    rng, n_refused = np.random.default_rng(2), 0
    rows = np.concatenate([X, np.full((1, 4), np.nan), np.full((1, 4), 1e9)])

    def taken(**changes):
        PackedForest(forest, packed.values, None, baseline=baseline, stored=packed._replace(**changes)).mean(rows, 1)

    taken()
    n_changes = examples(400)
    for _ in range(n_changes):
        slots = twin.slots_of(packed)
        at, name = int(rng.integers(len(slots))), str(rng.choice(slots.dtype.names))
        kind = slots[name].dtype.str.replace("f", "u")
        word = slots[at : at + 1][name].view(kind)
        changed = {0: word ^ np.array(1, kind) << rng.integers(8 * word.itemsize).astype(kind), 1: word + np.array(1, kind),
                   2: np.array([rng.integers(2**32)], kind)}[int(rng.integers(3))]  # fmt: skip
        slots[name][at] = changed.astype(kind).view(slots[name].dtype)[0]
        try:
            taken(slots=slots.view(np.int8))
        except ValueError as error:
            assert "packed node that leads nowhere" in str(error)
            n_refused += 1
    assert n_changes / 20 < n_refused < n_changes
    for name, array, message in (
        ("slots", packed.slots[:-1], "slots of packed trees has length"), ("slots", packed.slots.view("u1"), "no C-contiguous"),
        ("starts", packed.starts + 1, "starts of packed trees are not"), ("n_first", packed.n_first * 0, "allowed are 1 to 255"),
        ("depth", packed.depth * 0, "depth of packed trees holds"), ("bases", packed.bases - 1, "bases of packed trees holds"),
        ("bases", packed.bases + len(packed.values) - 1, "bases of packed|leads nowhere"), ("bits", packed.bits + 1, "bits"),
        ("n_steps", float("nan"), "nan steps"), ("n_steps", "1", "'1' steps"), ("values", packed.values[:1], "leads|bases"),
        ("values", packed.values[:, :0], "values"), ("words", np.empty(0, np.uint64), "0 words"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            PackedForest(forest, np.ones((1, 1)), None, baseline=baseline, stored=packed._replace(**{name: array}))


def test_cycles_are_refused():
    """A left child before its parent, or the parent itself, and a leaf that leads elsewhere."""
    forest = dforest.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X.astype(np.float32), Y).forest_
    packed = forest.packed().arrays()
    assert not packed.is_wide
    low = (1 << packed.bits + 2) - 1
    slots = twin.slots_of(packed)
    inner = [at for at in range(1, len(slots)) if slots["word"][at] >> packed.bits + 2 > at]
    leaf = next(at for at in range(1, len(slots)) if at not in inner)
    for at in inner:
        for child in (0, at - 1, at, at + at % 2 + 1, len(slots)):
            changed = slots.copy()
            changed["word"][at] = changed["word"][at] & low | child << packed.bits + 2
            with pytest.raises(ValueError, match="tree 0 has a packed node that leads nowhere"):
                PackedForest(forest, packed.values, None, stored=packed._replace(slots=changed.view(np.int8)))
    for threshold in (0.0, np.inf):
        changed = slots.copy()
        changed["threshold"][leaf] = threshold
        with pytest.raises(ValueError, match="leads nowhere"):
            PackedForest(forest, packed.values, None, stored=packed._replace(slots=changed.view(np.int8)))


def rewritten(path, change):
    """A file whose model, JSON, was changed, and whose checksums are right."""
    blob = path.read_bytes()
    header, _ = twin.header_of(blob)
    model = json.loads(header["__metadata__"]["model"])
    change(model)
    header["__metadata__"]["model"] = json.dumps(model)
    path.unlink()
    path.write_bytes(twin.with_header(blob, header))


NESTED = 1
for _ in range(500):
    NESTED = [NESTED]
CHANGES = {
    "no Estimator": (lambda m: m.update(estimator="Popen"), "Popen"),
    "own": (lambda m: m.update(estimator={"own": "system"}), "it needs 'system'"),
    "parameter": (lambda m: m["parameters"].update(n_estimators=-1), "n_estimators"),
    "unknown parameter": (lambda m: m["parameters"].update(n_trees=1), "n_trees"),
    "method": (lambda m: m["attributes"].update(predict=1), "'predict' would hide"),
    "dunder": (lambda m: m["attributes"].update(__class__=1), "'__class__' would hide"),
    "tag": (lambda m: m["attributes"].update(oob_score_={"eval": "1"}), "a 'eval', which this version"),
    "component": (lambda m: m["parameters"].update(splitter={"own": ["system", None]}), "it needs 'system'"),
    "built-in": (lambda m: m["parameters"].update(splitter={"built_in": ["Popen", None]}), "Popen"),
    "metric": (lambda m: m["parameters"].update(oob_score={"metric": "system"}), "it needs the metric 'system'"),
    "scorer": (lambda m: m["parameters"].update(oob_score={"scorer": ["f1"]}), r"it needs the scorer \['f1'\]"),
    "class as a metric": (lambda m: m["parameters"].update(oob_score={"metric": "ConfusionMatrixDisplay"}), "needs the metric"),
    "partial": (lambda m: m["parameters"].update(oob_score={"partial": [["f"], {"dict": []}]}), "must be callable"),
    "decimal": (lambda m: m["attributes"].update(oob_score_={"Decimal": ["a"]}), "InvalidOperation"),
    "fraction": (lambda m: m["attributes"].update(oob_score_={"Fraction": [1, 0]}), "ZeroDivisionError"),
    "date": (lambda m: m["attributes"].update(oob_score_={"date": ["2031-02-30"]}), "day"),
    "time": (lambda m: m["attributes"].update(oob_score_={"Timestamp": [1, "s", "dateutil//etc/zone"]}), "the time zone"),
    "zone": (lambda m: m["attributes"].update(oob_score_={"Timestamp": [1, "s", "/etc/zone"]}), "the time zone '/etc/zone'"),
    "no zone": (lambda m: m["attributes"].update(oob_score_={"Timestamp": [1, "s", "Mars/Base"]}), "Mars"),
    "interval": (lambda m: m["attributes"].update(oob_score_={"Interval": [2, 1, "left"]}), "left side of interval"),
    "period": (lambda m: m["attributes"].update(oob_score_={"Period": [2, "eval"]}), "eval|frequency"),
    "classes": (lambda m: m["attributes"].update(classes_={"texts": ["<U1", [2], ["a", "b"]]}), "number of classes_: 2"),
    "no classes": (lambda m: m["attributes"].pop("classes_"), "classes_ is None"),
    "texts": (lambda m: m["attributes"].update(classes_={"texts": ["<U99999999", [3], ["a", "b", "c"]]}), "3 texts of the type"),
    "nested": (lambda m: m["attributes"].update(oob_score_=NESTED), "values are nested more than 64 times"),
    "plans": (lambda m: m["forest"].update(plans=[[{"AllRows": {}}, 10**18]]), "plans are not those of 3 trees"),
    "no plans": (lambda m: m["forest"].update(plans=[[{"AllRows": {}}, 0]] * 3), "plans are not those of 3 trees"),
    "objective": (lambda m: m["forest"].update(objective={"ClassObjective": {"n_classes": 2**30}}), "n_classes|values"),
    "seed": (lambda m: m["forest"].update(seed=-1), "seed=-1"),
    "features": (lambda m: m["forest"].update(n_features=2**40), "n_features|bits"),
    "no forest": (lambda m: m.pop("forest"), "forest"),
    "voting": (lambda m: m["packed"].update(voting="loud"), "voting='loud'"),
    "steps": (lambda m: m["packed"].update(n_steps=None), "None steps"),
    "width": (lambda m: m["packed"].update(is_wide=not m["packed"]["is_wide"]), "slots have"),
    "routing": (lambda m: m["routing"].update(fit={"dict": [["sample_weight", True], ["X", 1]]}), "Unexpected args|X"),
    "batches": (lambda m: m["attributes"].update(_batches=[{"Batch": {"n_trees": 3}}]), "Batch|missing"),
    "rows": (lambda m: m["attributes"]["_batches"][0]["Batch"].update(n_rows=2**60), "n_rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_models_that_contradict_themselves(name, tmp_path):
    change, message = CHANGES[name]
    path = tmp_path / "model"
    next(models()).save(path)
    rewritten(path, change)
    with pytest.raises(ModelFileError, match=message):
        dforest.load(path)


def test_other_versions(tmp_path):
    path = tmp_path / "model"
    next(models()).save(path)
    blob = path.read_bytes()
    header, _ = twin.header_of(blob)
    header["__metadata__"]["format_version"] = "3"
    path.unlink()
    path.write_bytes(twin.with_header(blob, header))
    with pytest.raises(ModelFileError, match="in version 3 of the format; this is dforest .*, which reads the versions 1 and 2"):
        dforest.load(path)


def test_packed_trees_of_other_trees(tmp_path):
    """Packed trees that say something else than the trees are found when the trees are read."""
    path = tmp_path / "model"
    model = next(models())
    model.save(path)
    blob = path.read_bytes()
    header, begin = twin.header_of(blob)
    first, last = header["packed.values"]["data_offsets"]
    damaged = bytearray(blob)
    values = np.frombuffer(blob[begin + first : begin + last], "<f8")[::-1]
    damaged[begin + first : begin + last] = values.tobytes()
    path.unlink()
    path.write_bytes(twin.signed(damaged))
    loaded = dforest.load(path)
    assert not np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ModelFileError, match="values of packed trees are not those of the trees that they were made of"):
        loaded.apply(X)
    assert np.array_equal(dforest.load(path, mmap=False).predict_proba(X), model.predict_proba(X))
