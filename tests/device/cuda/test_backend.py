"""CUDA's backend without a GPU: all that stands between estimators and the driver, with a driver that is none."""

import ctypes
import gc
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
from helpers.device_forests import differences, random_fit, tuned
from helpers.device_rows import check_order
from helpers.fake_cuda import FakeDriver, Status
from helpers.host_device import compile_kernels, load_kernels
from sklearn.base import clone
from sklearn.datasets import load_iris

import dforest
from dforest import HistGradientBoostingRegressor, RandomForestClassifier
from dforest.backends import find_device
from dforest.backends.cuda import blocks, compiler, copies, devices, driver, memory
from dforest.backends.cuda.dlpack import capsule_of, layout_of
from dforest.engines.device.recorder import Recorder
from dforest.errors import DeviceError

X, Y = load_iris(return_X_y=True)
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@pytest.fixture
def fake(monkeypatch):
    """A driver with two GPUs."""
    found = FakeDriver(load_kernels(compile_kernels()), n_gpus=2)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", found)
    driver.bindings.cache_clear()
    monkeypatch.setattr(compiler, "build", lambda kernel, architecture: kernel.encode())
    monkeypatch.setattr(compiler, "_nvrtc", lambda name: {"nvrtcVersion": (13, 0), "nvrtcGetSupportedArchs": [75, 90]}[name])
    compiler._version.cache_clear()
    monkeypatch.setattr(devices, "_devices", {})
    monkeypatch.setattr(driver, "_process", None)
    with tuned({"n_items": 4}):
        yield found
        devices._devices.clear()
        gc.collect()  # what exceptions still hold is given back to this driver, not to that of a later test
    driver.bindings.cache_clear()
    compiler._version.cache_clear()


class LibraryArray:
    """An array of another library, as far as the interface goes, in memory of the fake GPU."""

    def __init__(self, array, **interface):
        self.array = np.asarray(array)
        self.__cuda_array_interface__ = self.array.__array_interface__ | {"version": 3, "stream": None} | interface

    def __array_namespace__(self):
        return LibraryArray

    @staticmethod
    def from_dlpack(result):
        """What libraries do: they take the capsule, and have its memory as long as they want."""
        assert result.__dlpack_device__() == (2, 0)
        capsule = result.__dlpack__(stream=None)
        shape, dtype, _, address = layout_of(capsule)
        found = np.frombuffer((ctypes.c_uint8 * result.nbytes).from_address(address), dtype).reshape(shape)
        return Taken(found, capsule)

    def __dlpack_device__(self):
        return 2, 0


class Taken:
    def __init__(self, array, capsule):
        self.array, self.capsule = array, capsule

    def get(self):
        return self.array.copy()


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, 1

    def __dlpack__(self):
        return self.array.__dlpack__()


def test_devices_have_names(fake):
    _, *gpus, _ = dforest.devices()
    expected = [("cuda:0", "Fake GPU 0", True), ("cuda:1", "Fake GPU 1", True)]
    assert [(gpu.device, gpu.name, gpu.usable) for gpu in gpus] == expected
    assert find_device("cuda") is find_device("cuda:0") is not find_device("cuda:1")
    with pytest.raises(DeviceError, match=r"device='cuda:2': there is no such GPU; there are .*\"cuda:1\" \(Fake GPU 1\)"):
        RandomForestClassifier(device="cuda:2").fit(X, Y)
    assert fake.stack == []


def test_old_gpus_are_refused(fake):
    fake.attributes["major"] = 6
    _, gpu, *_ = dforest.devices()
    assert not gpu.usable and "compute capability 6.0; kernels need 7.0" in gpu.reason
    fake.attributes["major"] = 7  # of which CUDA 13 knows those from 7.5 on
    with pytest.raises(DeviceError, match=r"capability 7\.5 or a later one, not of 7\.0; .*'nvidia-cuda-nvrtc-cu12"):
        RandomForestClassifier(device="cuda").fit(X, Y)
    assert fake.held == {} and fake.stack == []


def test_newer_gpus_get_code_for_older_ones(fake):
    fake.attributes["major"] = 12
    assert dforest.devices()[1].usable and find_device("cuda")._architecture == "compute_90"


def test_older_drivers_are_refused(fake, monkeypatch):
    monkeypatch.setattr(fake, "cuDriverGetVersion", lambda: (Status.CUDA_SUCCESS, 12040), raising=False)
    with pytest.raises(DeviceError, match="driver runs CUDA 12, but NVRTC is of CUDA 13; install a newer driver, or"):
        find_device("cuda")


def test_without_a_gpu(fake):
    fake.n_gpus = 0
    _, gpu, _ = dforest.devices()
    assert (gpu.device, gpu.usable) == ("cuda", False) and "CUDA_ERROR_NO_DEVICE" in gpu.reason
    with pytest.raises(DeviceError, match="device='cuda': CUDA_ERROR_NO_DEVICE"):
        RandomForestClassifier(device="cuda").fit(X, Y)


def test_without_cuda_bindings(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    driver.bindings.cache_clear()
    with pytest.raises(DeviceError, match="NVIDIA GPUs need cuda-bindings and NVRTC: pip install 'cuda-bindings"):
        RandomForestClassifier(device="cuda").fit(X, Y)
    assert any(info.device == "cuda" and "pip install" in info.reason for info in dforest.devices())


@pytest.mark.parametrize("pools", [0, 1])
@pytest.mark.parametrize("seed", range(20, 26))
def test_forests_are_those_of_the_processor(fake, seed, pools):
    fake.attributes["pools"] = pools
    estimator, X, y, weight = random_fit(seed)
    here = clone(estimator).fit(X, y, weight)
    there = clone(estimator).set_params(device="cuda").fit(X, y, weight)
    assert not differences(here, there)
    assert here.predict(X).tobytes() == there.predict(X).tobytes()
    del there
    assert fake.held == {} and fake.stack == []


def test_boosted_trees_are_those_of_the_processor(fake):
    model = HistGradientBoostingRegressor(max_iter=3, random_state=0)
    here, there = clone(model).fit(X, Y), clone(model).set_params(device="cuda:1").fit(X, Y)
    assert there.fit_report_.device == "Fake GPU 1"
    assert not differences(here, there)


def test_arrays_are_used_where_they_lie(fake):
    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    there = LibraryArray(np.ascontiguousarray(X))
    device = find_device("cuda")
    written = device.account.n_bytes_written
    found = model.predict_proba(there)
    np.testing.assert_array_equal(found.get(), expected)
    once = device.account.n_bytes_written - written
    model.predict_proba(there)
    assert once > 0 and device.account.n_bytes_written - written == once  # the forest, and no row
    assert found.array.ctypes.data in fake.held
    for other in (X[::-1], X[:, ::-1], X.T.copy().T, X[5:90:7]):
        np.testing.assert_array_equal(model.predict_proba(LibraryArray(other)).get(), model.predict_proba(np.array(other)))
    np.testing.assert_array_equal(model.predict_proba(OnlyDLPack(X.copy())).get(), expected)
    assert not differences(RandomForestClassifier(3, random_state=0).fit(there, LibraryArray(Y)), model)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(LibraryArray(X[:0]))
    del model, found
    device.copies.clear()
    assert fake.held == {}


def test_an_exception_outlives_what_is_handed_over(fake):
    """The capsule ends while an exception is on its way."""
    array = find_device("cuda").zeros(3, np.float64).for_others()

    def refuse():
        raise KeyError("refused")

    with pytest.raises(KeyError, match="refused"):
        [capsule_of(array, 0), refuse()]
    with pytest.raises(TypeError, match="int"):
        int(capsule_of(array, 0))
    del array
    assert fake.held == {}
    with pytest.raises(TypeError, match="can't be handed over by DLPack"):
        capsule_of(find_device("cuda").zeros(3, np.dtype([("a", np.int32)])), 0)


def test_what_no_device_has_is_the_hosts(fake):
    class Spread(list):
        def __dlpack_device__(self):
            raise BufferError("on several devices")

    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(Spread(X.tolist())), model.predict(X))


def test_arrays_and_names_must_agree(fake):
    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="device='cuda:1' is .* but the arrays given are on \"cuda:0\""):
        model.set_params(device="cuda:1").predict(LibraryArray(X))
    with pytest.raises(ValueError, match="device='gpu', but the queue of config_context, or the arrays given, are of a"):
        model.set_params(device="gpu").predict(LibraryArray(X))
    with pytest.raises(ValueError, match="has a mask, which is not supported"):
        model.set_params(device=None).predict(LibraryArray(X, mask=True))


def test_memory_that_is_not_there(fake):
    device = find_device("cuda")
    with pytest.raises(DeviceError, match=rf"{1 << 33} bytes of memory could not be allocated on the device 'Fake GPU 0', which"):
        device.empty(1 << 30, np.float64)
    model = RandomForestClassifier(3, random_state=0, device="cuda").fit(X, Y)
    before = dict(vars(model))
    fake.memory_bytes = 1000
    with pytest.raises(DeviceError, match="bytes of memory could not be allocated"):
        model.fit(X[:, :2], Y)
    assert vars(model) == before and fake.held == {}


def test_a_lost_device(fake):
    """The model stays, predicts on the processor, and a later fit says why it can't."""
    model = RandomForestClassifier(3, random_state=0, device="cuda").fit(X, Y)
    expected, before = model.predict(X), dict(vars(model))
    fake.lost = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    for use in (lambda: model.fit(X[:, :2], Y), lambda: model.predict(X)):
        with pytest.raises(DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS: as the fake driver says"):
            use()
    assert vars(model) == before and fake.stack == []
    np.testing.assert_array_equal(model.set_params(device=None).predict(X), expected)


def test_arrays_are_written_and_read_in_order(fake, monkeypatch):
    """Small arrays share blocks; the content of new ones comes before all else that the device does."""
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 1 << 17)
    for reads_host in (0, 1):
        fake.attributes["reads host"] = reads_host
        devices._devices.clear()
        check_order(find_device("cuda"), np.random.default_rng(2))
    assert fake.held == {} and fake.stack == []


def test_small_arrays_cost_few_calls(fake, monkeypatch):
    device, calls = find_device("cuda"), []
    arrays = [device.array(np.full(5, k)) for k in range(50)]
    for name in ("cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync", "cuMemFreeAsync"):
        own = getattr(fake, name)
        monkeypatch.setattr(fake, name, lambda *given, own=own, name=name: (calls.append(name), own(*given))[1], raising=False)
    arrays += [device.array(np.full(5, k)) for k in range(50, 100)]
    assert calls == []
    assert [array.get().tolist() for array in arrays] == [[k] * 5 for k in range(100)]
    del arrays
    assert calls == ["cuMemcpyHtoDAsync", "cuMemFreeAsync"]


def test_threads_share_blocks(fake, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 1 << 17)
    device = find_device("cuda")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda seed: check_order(device, np.random.default_rng(seed), 200), range(6)))
    gc.collect()
    assert fake.held == {}


def test_a_block_that_ends_takes_no_more_arrays(fake, monkeypatch):
    """While its memory is given back, another thread makes an array."""
    device, own, made = find_device("cuda"), fake.cuMemFreeAsync, []

    def give_back(address, stream):
        monkeypatch.setattr(fake, "cuMemFreeAsync", own, raising=False)
        thread = Thread(target=lambda: made.append(device.array(np.arange(5))))
        thread.start()
        thread.join()
        return own(address, stream)

    device.array(np.zeros(3))  # which nobody copies before its end
    array = device.array(np.zeros(3))
    monkeypatch.setattr(fake, "cuMemFreeAsync", give_back, raising=False)
    del array
    assert len(fake.held) == 1
    np.testing.assert_array_equal(made[0].get(), np.arange(5))


def test_the_pool_gives_back_what_is_asked_for_in_vain(fake, monkeypatch):
    device, trimmed, own = find_device("cuda"), [], fake.cuMemAlloc
    out_of_memory = Status.CUDA_ERROR_OUT_OF_MEMORY, 0

    def trim(pool, n_bytes):
        trimmed.append(n_bytes)
        return (Status.CUDA_SUCCESS,)

    monkeypatch.setattr(fake, "cuMemPoolTrimTo", trim, raising=False)
    monkeypatch.setattr(fake, "cuMemAlloc", lambda n: own(n) if trimmed else out_of_memory, raising=False)
    np.testing.assert_array_equal(device.array(np.arange(9)).for_others().get(), np.arange(9))
    assert trimmed == [0]


def test_large_arrays_are_copied_in_parts(fake, monkeypatch):
    monkeypatch.setattr(copies, "PART_BYTES", 1000)
    monkeypatch.setattr(memory, "LARGE_BYTES", 2000)
    device, rng = find_device("cuda"), np.random.default_rng(0)
    for n in (249, 250, 251, 1000, 1001, 12_345):
        array = rng.standard_normal(n)
        there = device.array(array)
        np.testing.assert_array_equal(there.get(), array)
        there.write(array[: n // 2], n - n // 2)
        np.testing.assert_array_equal(there.get()[n - n // 2 :], array[: n // 2])
    fake.lost = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match="a copy to the device or from it failed on the device 'Fake GPU 0': CUDA_ERROR_ILL"):
        there.get()
    assert fake.stack == []


def test_memory_is_kept_while_there_is_work(fake, monkeypatch):
    kept = []

    def keep(pool, attribute, n_bytes):
        kept.append(n_bytes)
        return (Status.CUDA_SUCCESS,)

    monkeypatch.setattr(fake, "cuMemPoolSetAttribute", keep, raising=False)
    device = find_device("cuda")
    little, most = 1 << 30, fake.memory_bytes
    assert kept == [little] and not device.is_at_work
    first, second = Recorder(device), Recorder(device)
    first.array(np.zeros(3))
    assert kept == [little, most] and len(fake.held) == 1  # the block
    del first
    assert kept == [little, most] and device.is_at_work
    del second
    assert kept == [little, most, little] and fake.held == {}
    RandomForestClassifier(3, device="cuda").fit(X, Y)
    assert kept[3:] == [most, little] and not device.is_at_work


def test_arrays_say_what_they_are_not_written(fake):
    array = find_device("cuda").zeros((3, 4), np.float32)
    with pytest.raises(TypeError, match="an array of float64 written to one of float32"):
        array.write(np.ones(2))
    with pytest.raises(ValueError, match="2 entries written from entry 11 on"):
        array.write(np.ones(2, np.float32), 11)
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(array)
    with pytest.raises(TypeError, match="get"):
        np.asarray(array)
    with pytest.raises(ValueError, match="lies in the memory of another device, 'Fake GPU 0'"):
        find_device("cuda:1").run("df_most", 1, find_device("cuda").zeros(3, np.float64), 3, 1, 1, None)


def test_a_forked_process_is_told(fake, monkeypatch):
    device = find_device("cuda")
    monkeypatch.setattr(driver.os, "getpid", lambda: -1)
    for use in (lambda: find_device("cuda"), lambda: device.zeros(3, np.int8), lambda: device.run("df_most", 0)):
        with pytest.raises(DeviceError, match="forked"):
            use()
