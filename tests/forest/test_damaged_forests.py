"""Forests that come from elsewhere than a fit: what is wrong with them is told, and nothing crashes.

States of fitted forests are changed at random, in a process of its own; what comes of it is a TypeError or
ValueError, or a forest that does all that forests do.
"""

import faulthandler
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.forest.arrays import Forest, names_of
from dforest.core.objective import ClassObjective, NumberObjective, Objective, SumObjective
from dforest.core.sampling import AllRows, Bootstrap
from dforest.inspection.interop import Tree

SEEDS, CHANGES = 4, 200  # processes, and states changed in each: of one forest of each kind in turn
MAX_SECONDS = 120  # of a process, which needs about 2


def problem(n=150):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)).round(1)
    X[:, 3] = rng.integers(0, 90, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:2, 3] = [0, 89]
    y = np.nan_to_num(X[:, 0] + X[:, 1] ** 2) + X[:, 3] % 2
    return X, np.nan_to_num(y)


def models():
    """Fitted estimators of all kinds, with the rows they were fitted on."""
    X, y = problem()
    labels = np.digitize(np.nan_to_num(y), [0.5, 1.5])
    numbers = np.abs(y)
    yield RandomForestClassifier(4, random_state=0).fit(X, labels), X
    yield RandomForestClassifier(3, random_state=0, categorical_features=[3], max_leaf_nodes=9).fit(X, labels), X
    yield ExtraTreesClassifier(3, random_state=0).fit(X.astype(np.float32), labels > 0), X.astype(np.float32)
    yield RandomForestRegressor(3, random_state=0, criterion="poisson", categorical_features=[3]).fit(X, numbers), X
    yield RandomForestRegressor(3, random_state=0, method="dense", criterion="absolute_error").fit(X, numbers), X
    yield DecisionTreeRegressor(max_depth=3).fit(X, y), X
    yield HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5).fit(X, labels), X
    yield HistGradientBoostingRegressor(max_iter=4, categorical_features=[3]).fit(X, y), X


def use(forest, X):
    """Everything that reads a forest's arrays."""
    forest = pickle.loads(pickle.dumps(forest))
    packed = forest.packed()
    packed.mean(X, 2)
    packed.paths(packed.apply(X, 1))
    forest.predictor().predict(X[0].copy())
    forest.packed("hard" if forest.objective.predicts_shares else "soft").most(X, 1)
    forest.impurity_decrease()
    forest.depths()
    forest.row_counts(0) if forest.n_rows[0] < 10**6 and forest.n_draws[0] < 10**6 else forest.n_draws
    for t in range(forest.n_trees):
        tree = forest.tree(t)
        tree.packed_leaves().mean(X, 1)
        tree.node_table(0)
        for node in range(min(9, len(tree.feature))):
            tree.subset_of(node)
    forest.cut_back(np.arange(len(forest.feature)) % 3 == 1)


NUMBERS = [0, 1, 2, 3, 7, 63, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, -1, -2, -(2**31), -(2**63),
           0.5, np.nan, np.inf, -np.inf, 1e308, True, None, "gini", "poisson", b"\0\1", (), [1, 2]]  # fmt: skip
DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64,
          np.bool_, ">i4", ">f8", object]  # fmt: skip


def changed_array(array, rng):
    """An array with one thing changed."""
    kind = rng.integers(10)
    array = array.copy()
    if kind < 4 and array.size:
        with np.errstate(all="ignore"):
            number = NUMBERS[rng.integers(24)]
            try:
                array.flat[rng.integers(array.size)] = number
            except (OverflowError, ValueError):  # no such number in this type
                array.flat[rng.integers(array.size)] = 1
    elif kind == 4 and array.size > 1:
        a, b = rng.integers(array.size, size=2)
        array.flat[[a, b]] = array.flat[[b, a]]
    elif kind == 5 and array.nbytes:
        raw = array.view(np.uint8).reshape(-1)
        raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    elif kind == 6:
        array = array[: rng.integers(len(array) + 1)]
    elif kind == 7:
        array = np.concatenate([array, array[: rng.integers(1, 4)]])
    elif kind == 8:
        array = array.astype(DTYPES[rng.integers(len(DTYPES))])
    else:
        array = [array.T, array[None], array.reshape(-1), array[::-1], np.asfortranarray(array), array.tolist()][rng.integers(6)]
    return array


def changed_plans(plans, rng):
    """Sampling plans of trees, one of them another one, or none; or fewer or more of them."""
    t = rng.integers(len(plans))
    kind = rng.integers(4)
    if kind == 0:
        return plans[:t]
    if kind == 1:
        return plans + plans[:1]
    other = [AllRows(), Bootstrap(1), Bootstrap(2**32 - 1)] if kind == 2 else [AllRows, None, plans, "AllRows()"]
    return (*plans[:t], other[rng.integers(len(other))], *plans[t + 1 :])


def changed_objective(objective, rng):
    """An objective of another kind, or of another number of classes, or none."""
    others = [
        NumberObjective(), NumberObjective, with_state(ClassObjective), with_state(NumberObjective, n_classes=3), None,
        *(ClassObjective(n) for n in (0, 1, 2, 3, 5, -1, 1.5, 2**40)),
        *(SumObjective(given) for given in ((0.5,), (1.0, 2.0), (0.0,) * 7, (), (np.nan,), (1,), [0.0], None, (np.float64(1),))),
    ]  # fmt: skip
    return others[rng.integers(len(others))]


def changed(state, rng):
    """A dict of arrays and other values, some of them changed."""
    state = dict(state)
    for _ in range(rng.integers(1, 3)):
        name = sorted(state)[rng.integers(len(state))]
        if isinstance(state[name], dict) and rng.random() < 0.95:
            state[name] = changed(state[name], rng)
        elif isinstance(state[name], np.ndarray) and rng.random() < 0.9:
            with np.errstate(all="ignore"):
                state[name] = changed_array(state[name], rng)
        elif isinstance(state[name], tuple) and rng.random() < 0.9:
            state[name] = changed_plans(state[name], rng)
        elif isinstance(state[name], Objective) and rng.random() < 0.9:
            state[name] = changed_objective(state[name], rng)
        elif rng.random() < 0.1:
            del state[name]
        else:
            state[name] = NUMBERS[rng.integers(len(NUMBERS))]
    return state


def run_changes(seed):
    """Change states, and use what forests come of them; returns how many did, and what the others raised."""
    faulthandler.enable()
    fitted = list(models())
    rng = np.random.default_rng(seed)
    told = []
    for i in range(CHANGES):
        model, X = fitted[i % len(fitted)]
        known = model.forest_
        faulthandler.dump_traceback_later(20, exit=True)
        try:
            if rng.random() < 0.6:
                forest = Forest.__new__(Forest)
                forest.__setstate__(changed(known.__getstate__(), rng))
            else:
                arguments = changed({**known.settings(), **known.as_dict()}, rng)
                arrays = {name: arguments.pop(name) for name in names_of(known.objective) if name in arguments}
                try:
                    forest = Forest(arrays, **arguments)
                except TypeError as error:
                    if "missing" in str(error):  # a keyword left out
                        continue
                    raise
        except (TypeError, ValueError) as error:
            assert str(error), repr(error)
            told.append(str(error))
            continue
        with np.errstate(all="ignore"):
            use(forest, X)
    return CHANGES - len(told), told


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.slow(after=1)
def test_changed_states(seed):
    script = f"import test_damaged_forests as t; n, told = t.run_changes({seed}); print(n, len(set(told)))"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys; sys.path.insert(0, {__file__.rpartition('/')[0]!r}); {script}"],
        capture_output=True, text=True, timeout=MAX_SECONDS,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    n_used, n_messages = map(int, found.stdout.split())
    assert n_used > 5 and n_messages > 30


def test_changed_states_are_what_they_should_be():
    """Unchanged ones are let through, with the same bits."""
    for model, X in models():
        forest = model.forest_
        again = Forest(forest.as_dict(), **forest.settings())
        assert pickle.dumps(again.as_dict()) == pickle.dumps(forest.as_dict())
        use(again, X)
        for t in range(forest.n_trees):
            tree = forest.tree(t)
            use(Forest(tree.as_dict(), **tree.settings()), X)


def arrays_of(thing):
    """All arrays that are public attributes of an object, or in lists that are, with their names."""
    for name in dir(thing):
        if name.startswith("_"):
            continue
        value = getattr(thing, name, None)
        yield from ((name, part) for part in (value if isinstance(value, list) else [value]) if isinstance(part, np.ndarray))


def forests_of_all_origins():
    X, y = problem()
    for model, _ in models():
        yield model.forest_
        yield pickle.loads(pickle.dumps(model)).forest_
        yield pickle.loads(pickle.dumps(model.forest_, 5))
        yield model.forest_.cut_back(np.arange(len(model.forest_.feature)) == 1)
        yield model.forest_.tree(0)
        yield Forest({name: array.copy() for name, array in model.forest_.as_dict().items()}, **model.forest_.settings())
    grown = RandomForestRegressor(2, warm_start=True, random_state=0).fit(X, y)
    yield grown.set_params(n_estimators=4).fit(X, y).forest_
    yield grown.estimators_[1].forest_
    yield RandomForestRegressor(2, ccp_alpha=0.1, random_state=0).fit(X, y).forest_
    yield DecisionTreeRegressor(random_state=0).fit(X, y).prune(X, y).forest_


def test_arrays_are_read_only():
    for forest in forests_of_all_origins():
        names = set()
        for name, array in arrays_of(forest):
            names.add(name)
            assert not array.flags.writeable, name
            if array.size:
                with pytest.raises(ValueError, match="read-only"):
                    array.flat[0] = 1
        assert names >= {*names_of(NumberObjective()), "seeds", "n_rows", "n_draws", "weight_unit", "n_categories"}
        for name in ("link", "objective", "criterion"):
            with pytest.raises(AttributeError, match=f"^{name} can't be set: a forest does not change"):
                setattr(forest, name, getattr(forest, name))
            with pytest.raises(AttributeError, match=f"^{name} can't be deleted"):
                delattr(forest, name)
        packed = forest.packed()
        packed.apply(np.zeros((1, forest.n_features)), 1)
        arrays = packed.arrays() if forest.objective.baseline is None else []  # of sums there are none for devices
        held = [*arrays, packed.node_numbers()]
        assert not any(array.flags.writeable for array in held if isinstance(array, np.ndarray))


def test_arrays_of_estimators_are_read_only():
    X, y = problem()
    model = RandomForestRegressor(2, categorical_features=[3], random_state=0).fit(X, y)
    for one in (model, pickle.loads(pickle.dumps(model))):
        assert not one.categories_[3].flags.writeable
        assert {name for name, array in arrays_of(one.estimators_[0].tree_) if array.flags.writeable} == set()
        assert {name for name, array in arrays_of(one._features) if array.flags.writeable} == set()
        np.testing.assert_array_equal(one.predict(X), model.predict(X))


def test_callers_keep_their_arrays():
    forest = next(models())[0].forest_
    arrays, settings = ({name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in known.items()}
                        for known in (forest.as_dict(), forest.settings()))  # fmt: skip
    again = Forest(arrays, **settings)
    for known in (arrays, settings):
        for value in known.values():
            if isinstance(value, np.ndarray) and value.size:
                value.flat[0] = 0
                value[...] = 0
    assert pickle.dumps(again.as_dict()) == pickle.dumps(forest.as_dict())


def with_state(kind, **attributes):
    """An objective as a damaged pickle may have it: no constructor has seen it."""
    objective = kind.__new__(kind)
    objective.__dict__.update(attributes)
    return objective


def two_trees(**changes):
    """Arrays and settings of a regression forest of a stump and a leaf."""
    arrays = {
        "node_offsets": np.array([0, 3, 4]),
        "feature": np.array([1, -1, -1, -1], np.int32),
        "threshold": np.array([0.5, 0, 0, 0]),
        "link": np.array([2, 0, 1, 2], np.uint32),
        "missing_left": np.zeros(4, bool),
        "leaf_draws": np.array([2, 3, 5]),
        "leaf_weight": np.array([[2], [3], [5]]),
        "leaf_value": np.array([1.0, 2.0, 1.6]),
        "leaf_impurity": np.zeros(3),
        "inner": np.empty((0, 2)),
        "payload_offsets": np.zeros(1, np.int64),
        "payload_words": np.empty(0, np.uint64),
    }
    settings = {
        "n_rows": np.array([5, 5]), "plans": (Bootstrap(5),) * 2, "weight_unit": np.ones(2), "n_features": 2,
        "objective": NumberObjective(), "n_categories": np.zeros(2, np.int32), "criterion": "squared_error", "splitter": None,
        "seed": 0, "seeds": np.arange(2, dtype=np.uint32),
    }  # fmt: skip
    for name, value in changes.items():
        known = arrays if name in arrays else settings
        known[name] = np.array(value, known[name].dtype) if isinstance(value, list) else value
    return Forest(arrays, **settings)


def test_a_forest_made_by_hand():
    X = np.array([[0, 0.5], [0, 0.6]])
    np.testing.assert_array_equal(two_trees().packed().mean(X, 1)[:, 0], [1.3, 1.8])


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"link": [1, 0, 1, 2]}, ValueError, "node 0 of tree 0 has the right child 1; allowed are 2 to 2"),
        ({"link": [3, 0, 1, 2]}, ValueError, "node 0 of tree 0 has the right child 3; allowed are 2 to 2"),
        ({"link": [2, 0, 3, 2]}, ValueError, "node 2 of tree 0 has row 3 of the leaf tables; allowed are 0 to 2"),
        ({"feature": [2, -1, -1, -1]}, ValueError, "node 0 of tree 0 tests feature 2; allowed are 0 to 1"),
        ({"feature": [-2, -1, -1, -1]}, ValueError, "node 0 of tree 0 tests feature -2; that of a leaf is -1"),
        ({"feature": [-1, -1, -1, -1]}, ValueError, "node 0 of tree 0 is a leaf, but the next right child is node 3"),
        ({"feature": [1, -1, -1, 1]}, ValueError, "node 0 of tree 1 has the right child 2; allowed are 2 to 0"),
        ({"threshold": [np.nan, 0, 0, 0]}, ValueError, "node 0 of tree 0 has the threshold NaN"),
        ({"threshold": np.zeros(4, np.float16)}, TypeError, "threshold has 1 axes and the type float16; .* float32 or float64"),
        ({"threshold": [0.5] * 5}, ValueError, "threshold has length 5; that of this forest is 4"),
        ({"missing_left": np.array([2, 0, 0, 0], np.uint8).view(bool)}, ValueError, "missing_left holds numbers from 0 to 2"),
        ({"node_offsets": [0, 4]}, ValueError, "seeds has length 2; that of this forest is 1"),
        ({"node_offsets": [0, 4, 4]}, ValueError, "node_offsets must rise from 0 to 4, by 1 or more each"),
        ({"node_offsets": [0, 3, 5]}, ValueError, "node_offsets must rise from 0 to 4"),
        ({"node_offsets": [0, 1, 4]}, ValueError, r"node 0 of tree 0 has the right child 2; allowed are 2 to 0"),
        ({"node_offsets": [0]}, ValueError, "node_offsets has length 1; allowed are two and more"),
        ({"node_offsets": (0, 3, 4)}, TypeError, "node_offsets is a tuple; allowed are arrays of int64"),
        ({"leaf_draws": [2, 3, 6]}, ValueError, "the leaves of tree 1 have more than its 5 draws"),
        ({"leaf_draws": [0, 3, 5]}, ValueError, "leaf_draws holds numbers from 0 to 5; allowed are 1 to"),
        ({"leaf_weight": [[2], [0], [5]]}, ValueError, "the weights in row 1 of leaf_weight are all 0"),
        ({"leaf_weight": [[2], [-3], [5]]}, ValueError, "leaf_weight holds numbers from -3 to 5"),
        ({"leaf_weight": [[2**62], [2**62], [5]]}, ValueError, "the leaves of tree 0 have .* weights of 2\\*\\*63 or more"),
        ({"leaf_weight": np.ones((3, 2), np.int64)}, ValueError, "row of leaf_weight has length 2; that of this forest is 1"),
        ({"leaf_value": [1, np.inf, 1]}, ValueError, "leaf_value holds .*inf"),
        ({"leaf_value": []}, ValueError, "leaf_value has length 0; that of this forest is 3"),
        ({"leaf_impurity": [0, np.nan, 1]}, ValueError, "leaf_impurity holds .*nan"),
        ({"inner": np.zeros((1, 2))}, ValueError, r"inner has the shape \(1, 2\); that of this forest is \(0, 2\)"),
        ({"criterion": "absolute_error"}, ValueError, r"inner has the shape \(0, 2\); that of this forest is \(1, 2\)"),
        ({"criterion": "gini"}, ValueError, r"criterion='gini' of a forest with NumberObjective\(\); allowed are"),
        ({"criterion": 3}, TypeError, "criterion=3; allowed are names and objects of the class Criterion"),
        ({"splitter": "best"}, TypeError, "splitter='best'; allowed are None and splitters with tests of their own"),
        ({"n_categories": [0, 3]}, ValueError, "there are 0 payloads, but more nodes that have one"),
        ({"payload_offsets": [0, 0]}, ValueError, "there are 1 payloads, but 0 nodes that have one"),
        ({"payload_offsets": [0, 1], "payload_words": [8], "n_categories": [0, 3]}, ValueError, "subset of node 0 of tree 0 has"),
        ({"payload_offsets": [0, 2], "payload_words": [7, 0], "n_categories": [0, 3]}, ValueError, "the subset of node 0"),
        ({"payload_offsets": []}, ValueError, "payload_offsets must rise from 0 to 0"),
        ({"payload_offsets": [0, 2], "payload_words": [7], "n_categories": [0, 3]}, ValueError, "payload_offsets must rise"),
        ({"n_categories": [0, 70000]}, ValueError, "n_categories holds numbers from 0 to 70000; allowed are 0 to 65535"),
        ({"n_features": 3}, ValueError, "n_categories has length 2; that of this forest is 3"),
        ({"n_features": 2.0}, TypeError, "n_features=2.0; allowed are integers"),
        ({"objective": ClassObjective(-1)}, ValueError, "n_classes=-1; allowed are numbers from 1 to"),
        ({"objective": ClassObjective(2.0)}, TypeError, "n_classes=2.0; allowed are integers"),
        ({"objective": ClassObjective(1)}, ValueError, "criterion='squared_error' of a forest with ClassObjective"),
        ({"objective": ClassObjective(2), "criterion": "gini"}, ValueError, "leaf_value has length 3; that of this forest is 0"),
        ({"objective": 0}, TypeError, "objective=0; allowed are ClassObjective, NumberObjective, "),
        ({"objective": with_state(NumberObjective, n_classes=2)}, TypeError, r"the attributes \['n_classes'\]; allowed are \[\]"),
        ({"objective": SumObjective(())}, ValueError, r"baseline=\(\); allowed are tuples of one finite float or more"),
        ({"objective": SumObjective((0.0, float("inf")))}, ValueError, "allowed are tuples of one finite float or more"),
        ({"objective": with_state(ClassObjective)}, TypeError, r"has the attributes \[\]; allowed are \['n_classes'\]"),
        ({"seeds": [1]}, ValueError, "seeds has length 1; that of this forest is 2"),
        ({"seed": -1}, ValueError, "seed=-1; allowed are numbers from 0 to"),
        ({"n_rows": [5, 0]}, ValueError, "n_rows holds numbers from 0 to 5"),
        ({"plans": (Bootstrap(5), AllRows()), "n_rows": [5, 4]}, ValueError, "the leaves of tree 1 have more"),
        ({"plans": (Bootstrap(5), Bootstrap(4))}, ValueError, "the leaves of tree 1 have more"),
        ({"plans": (Bootstrap(5),)}, ValueError, "plans has length 1; that of this forest is 2"),
        ({"plans": (Bootstrap(5), None)}, TypeError, "plans has None for tree 1; allowed are sampling plans"),
        ({"plans": (Bootstrap, AllRows)}, TypeError, "plans has <class .*Bootstrap'> for tree 0; allowed are sampling plans"),
        ({"plans": np.array([5, 5])}, TypeError, "plans is a ndarray; allowed are tuples of sampling plans"),
        ({"plans": AllRows()}, TypeError, "plans is a AllRows; allowed are tuples of sampling plans"),
    ],
)  # fmt: skip
def test_forests_that_are_none(changes, kind, message):
    with pytest.raises(kind, match=message):
        two_trees(**changes)


def test_numbers_of_trees():
    forest = two_trees()
    for method in (forest.tree, forest.node_table, forest.tests_by_feature):
        for t in (-1, 2):
            with pytest.raises(IndexError, match=f"tree {t} of a forest of 2; allowed are 0 to 1"):
                method(t)
        with pytest.raises(TypeError):
            method(0.0)


def test_arguments_of_helpers():
    forest = two_trees()
    with pytest.raises(ValueError, match=r"cut must be an array of bool with the shape \(4,\)"):
        forest.cut_back(np.zeros(3, bool))
    with pytest.raises(ValueError, match="cut must be an array of bool"):
        forest.cut_back(np.zeros(4))
    packed = forest.packed()
    for leaf in ([[3, 0]], [[-1, 0]], [[0, 1]]):
        with pytest.raises(ValueError, match="row 0 reaches node .* of tree .; allowed are 0 to"):
            packed.paths(np.array(leaf))
    with pytest.raises(ValueError, match="leaves of 1 trees; the forest has 2"):
        packed.paths(np.zeros((1, 1), np.int64))
    with pytest.raises(ValueError, match="3 leaves, 3 rows up to 3 of 3 values"):
        type(packed)(forest, np.zeros((3, 1)), np.array([0, 3, 1], np.uint32))
    with pytest.raises(ValueError, match="3 leaves, 2 rows up to 1 of 3 values"):
        type(packed)(forest, np.zeros((3, 1)), np.array([0, 1], np.uint32))


def test_a_tree_of_two_trees():
    with pytest.raises(ValueError, match="the forest has 2 trees; allowed is a forest of one tree"):
        Tree(two_trees())


def test_states_that_take_too_much():
    """A number that says how large an array is to be does not make it so."""
    state = DecisionTreeClassifier(random_state=0).fit(*problem_of_classes()).forest_.__getstate__()
    for n in (10**10, 2**62, -5):
        with pytest.raises(ValueError, match="for the bits of .* nodes"):
            Forest.__new__(Forest).__setstate__({**state, "arrays": {**state["arrays"], "node_offsets": np.array([0, n])}})


def problem_of_classes():
    X, y = problem()
    return X, y > 1


def test_pickles_of_another_byte_order():
    model, X = next(models())
    state = model.forest_.__getstate__()
    swapped = {name: array.astype(array.dtype.newbyteorder()) for name, array in state["arrays"].items()}
    forest = Forest.__new__(Forest)
    forest.__setstate__({**state, "arrays": swapped})
    np.testing.assert_array_equal(forest.packed().mean(X, 1), model.predict_proba(X))
