"""Tests of arrays that lie on a device: where work is done, and what comes back."""

import gc

import numpy as np
import pytest
from helpers.device_forests import differences
from sklearn.datasets import load_breast_cancer, load_diabetes

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor, config_context
from dforest.backends.sycl import usm
from dforest.config import in_kind, is_on_device, on_host, queue_of


class Library:
    """Arrays as libraries for devices make them, as far as the interface goes: in memory of dpctl's."""

    @staticmethod
    def asarray(array, *, sycl_queue):
        assert array.__sycl_usm_array_interface__["syclobj"] == sycl_queue
        return LibraryArray(array.__sycl_usm_array_interface__, array)


class LibraryArray:
    def __init__(self, interface, owner):
        self.__sycl_usm_array_interface__ = interface
        self.owner = owner

    def __array_namespace__(self):
        return Library


def library_array(queue, array, strides=None, shape=None, first=0, kind="MemoryUSMDevice"):
    memory = pytest.importorskip("dpctl.memory")
    array = np.ascontiguousarray(array)
    held = getattr(memory, kind)(max(1, array.nbytes), queue=queue)
    if array.nbytes:
        held.copy_from_host(array.reshape(-1).view(np.uint8))
    interface = {
        "data": (held._pointer, False),
        "shape": array.shape if shape is None else shape,
        "strides": strides,
        "typestr": array.dtype.str,
        "version": 1,
        "syclobj": queue,
        "offset": first,
    }
    return LibraryArray(interface, held)


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    return RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2]), X


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return RandomForestRegressor(5, random_state=0).fit(X, y), X


@pytest.mark.parametrize("kind", ["MemoryUSMDevice", "MemoryUSMShared", "MemoryUSMHost"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_are_made_where_rows_lie(device, classes, numbers, dtype, kind, monkeypatch):
    monkeypatch.setattr(usm, "on_host", lambda array: pytest.fail("X went through the host"))
    queue = type(device.queue)(device.queue.sycl_device)
    for model, X in (classes, numbers):
        X = X.astype(dtype)
        there = library_array(queue, X, kind=kind)
        expected = {name: getattr(model, name)(X) for name in ("predict_proba", "apply") if hasattr(model, name)}
        if model is numbers[0]:
            expected["predict"] = model.predict(X)
        for name, values in expected.items():
            before = device.n_launches
            found = getattr(model, name)(there)
            assert device.n_launches == before + 1
            assert isinstance(found, LibraryArray)
            interface = found.__sycl_usm_array_interface__
            assert interface["syclobj"] is not device.queue and interface["syclobj"] == queue
            back = usm._memory(found).copy_to_host().view(interface["typestr"]).reshape(interface["shape"])
            assert back.tobytes() == values.tobytes() and back.dtype == values.dtype and back.shape == values.shape


def test_labels_and_logarithms(device, classes):
    model, X = classes
    there = library_array(device.queue, X)
    for name in ("predict", "predict_log_proba"):
        found, expected = getattr(model, name)(there), getattr(model, name)(X)
        assert isinstance(found, LibraryArray)
        np.testing.assert_array_equal(on_host(found), expected)
    named = RandomForestClassifier(5, random_state=0).fit(X, np.where(X[:, 0] > 12, "large", "small"))
    np.testing.assert_array_equal(named.predict(there), named.predict(X))  # a device holds no text
    assert (model.decision_path(there)[0] != model.decision_path(X)[0]).nnz == 0


def test_single_trees(device, classes):
    X = classes[1]
    y = X[:, 1] > 20
    for tree in (DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(random_state=0)):
        tree.fit(X, y)
        there = library_array(device.queue, X)
        for name in ("predict", "apply"):
            expected, found = getattr(tree, name)(X), on_host(getattr(tree, name)(there))
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)


def test_arrays_of_dforests_own(device, classes):
    model, X = classes
    there = device.array(X)
    found = model.predict_proba(there)
    assert type(found) is type(there)
    np.testing.assert_array_equal(found.get(), model.predict_proba(X))


def test_results_outlive_the_model(device):
    X, y = load_diabetes(return_X_y=True)
    found = RandomForestRegressor(3, random_state=0).fit(X, y).predict(library_array(device.queue, X))
    gc.collect()
    np.testing.assert_array_equal(on_host(found), RandomForestRegressor(3, random_state=0).fit(X, y).predict(X))


@pytest.mark.parametrize("layout", ["F", "strided", "reversed", "offset", "int"])
def test_rows_of_other_forms(device, numbers, layout):
    model, X = numbers
    n, m = X.shape
    if layout == "F":
        there = library_array(device.queue, X.T, (1, n), (n, m))
    elif layout == "strided":
        there = library_array(device.queue, np.repeat(X, 2, axis=1), (2 * m, 2), (n, m))
    elif layout == "reversed":
        there = library_array(device.queue, X[::-1], (-m, 1), (n, m), (n - 1) * m)
    elif layout == "offset":
        there = library_array(device.queue, np.vstack([X[:3], X]), None, (n, m), 3 * m)
    else:
        X = np.rint(X * 1000).astype(np.int32)
        there = library_array(device.queue, X)
    np.testing.assert_array_equal(on_host(there), X)
    np.testing.assert_array_equal(on_host(model.predict(there)), model.predict(X))


def test_wrong_rows(device, numbers):
    model, X = numbers
    with pytest.raises(ValueError, match="X has 9 features, but RandomForestRegressor is expecting 10"):
        model.predict(library_array(device.queue, X[:, :9]))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(library_array(device.queue, X[:0]))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict(library_array(device.queue, X[0]))


def test_queues_are_not_mixed(device, part_queues, numbers):
    model, X = numbers
    there = [library_array(queue, X) for queue in part_queues]
    for array in there:
        np.testing.assert_array_equal(on_host(model.predict(array)), model.predict(X))
    with pytest.raises(ValueError, match="different SYCL queues"):
        queue_of(*there)
    assert queue_of(there[1], X, there[1], None) == part_queues[1]
    with config_context(queue=part_queues[0]):
        np.testing.assert_array_equal(on_host(model.predict(there[0])), model.predict(X))
        with pytest.raises(ValueError, match="different SYCL queues"):
            model.predict(there[1])
    name = device.queue.sycl_device.filter_string
    with pytest.raises(ValueError, match=f"device='{name}' is "):
        RandomForestRegressor(device=name).fit(there[0], there[0])
    with pytest.raises(ValueError, match='device="cpu" is the processor without SYCL'):
        RandomForestRegressor(device="cpu").fit(there[0], X[:, 0])


def test_arrays_on_the_host_are_left_alone():
    for array in (np.ones(3), [1, 2], None):
        assert not is_on_device(array)
        assert on_host(array) is array
        assert in_kind(array, 5) == 5


def test_forests_are_grown_where_rows_lie(device, numbers):
    before = device.n_launches
    there = RandomForestRegressor(3, random_state=0).fit(library_array(device.queue, numbers[1]), numbers[1][:, 0])
    assert device.n_launches > before
    here = RandomForestRegressor(3, random_state=0).fit(numbers[1], numbers[1][:, 0])
    assert differences(here, there) == []


def test_the_importance_of_rows_on_a_device(device):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    found = forest.oob_importance(library_array(device.queue, X), library_array(device.queue, y))
    np.testing.assert_array_equal(found.importances, forest.oob_importance(X, y).importances)
