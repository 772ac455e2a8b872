"""Arrays of CuPy, PyTorch and JAX on a GPU: rows are used where they lie, and results come back in kind."""

import numpy as np
import pytest
from helpers.device_forests import differences
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes

from dforest import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor


class OnlyDLPack:
    """An array that has DLPack's protocol alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def cupy():
    return pytest.importorskip("cupy").asarray


def torch():
    library = pytest.importorskip("torch")
    return lambda array: library.as_tensor(array, device="cuda")


def jax():
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    return lambda array: library.device_put(array, library.devices("cuda")[0])


LIBRARIES = {function.__name__: function for function in (cupy, torch, jax)}


@pytest.fixture(params=LIBRARIES)
def to_gpu(request, device):
    if not hasattr(device, "number"):
        pytest.skip("the device is none of CUDA's")
    return LIBRARIES[request.param]()


def on_host(array):
    """What a library has on a GPU, as a NumPy array."""
    return array.cpu().numpy() if hasattr(array, "cpu") else array.get() if hasattr(array, "get") else np.asarray(array)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_are_made_where_rows_lie(device, to_gpu, dtype):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(dtype)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    there = to_gpu(X)
    for name in ("predict", "predict_proba", "apply"):
        before, copied = device.n_launches, device.account.n_bytes_read
        found = getattr(model, name)(there)
        assert type(found) is type(there) and device.n_launches > before
        assert name == "predict" or device.account.n_bytes_read == copied  # labels are looked up on the host
        np.testing.assert_array_equal(on_host(found), getattr(model, name)(X))


def test_rows_of_other_forms(device, to_gpu):
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(on_host(model.predict(to_gpu(np.ascontiguousarray(X.T)).T)), expected)
    np.testing.assert_array_equal(on_host(model.predict(to_gpu(X)[5:300:3])), expected[5:300:3])
    np.testing.assert_array_equal(on_host(model.predict(to_gpu(np.round(X).astype(np.int64)))), model.predict(np.round(X)))
    np.testing.assert_array_equal(model.predict(OnlyDLPack(to_gpu(X))).get(), expected)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(to_gpu(X[:0]))
    with pytest.raises(ValueError, match="X has 9 features"):
        model.predict(to_gpu(X[:, :9]))


def test_forests_are_grown_where_rows_lie(device, to_gpu):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(3, random_state=0, oob_score=True)
    for model in (forest, HistGradientBoostingRegressor(max_iter=3, random_state=0)):
        before = device.n_launches
        there = clone(model).fit(to_gpu(X), to_gpu(y))
        assert device.n_launches > before and there.fit_report_.device == device.name
        assert not differences(clone(model).fit(X, y), there)


def test_results_outlive_the_model(to_gpu):
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    expected, found = model.predict(X), model.predict(to_gpu(X))
    del model
    np.testing.assert_array_equal(on_host(found), expected)


def test_arrays_on_the_host_are_left_alone(device):
    torch = pytest.importorskip("torch")
    X, y = load_diabetes(return_X_y=True)
    model, before = RandomForestRegressor(3, random_state=0).fit(X, y), device.n_launches
    assert type(model.predict(torch.as_tensor(X))) is np.ndarray
    assert device.n_launches == before
