"""Tests of how a device is chosen, and of what is said where there is none."""

import os
import subprocess
import sys

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import dforest
from dforest import DecisionTreeClassifier, RandomForestClassifier
from dforest.backends import find_device
from dforest.errors import DeviceError
from dforest.splitter import PythonSplitter

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return RandomForestClassifier(3, random_state=0).fit(X, Y)


def run(code, *arguments, **environment):
    """What Python prints that runs some code."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_devices_are_listed(device):
    cpu, *others = dforest.devices()
    assert (cpu.device, cpu.usable) == ("cpu", True)
    name = device.queue.sycl_device.filter_string
    assert [info for info in others if info.device == name and info.name == device.name and info.usable and not info.reason]


@pytest.mark.slow
def test_the_command_lists_devices(device):
    command = [sys.executable, "-m", "dforest", "devices"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    first, *others = done.stdout.splitlines()
    assert first == "cpu: the processor, without SYCL"
    assert f"{device.queue.sycl_device.filter_string}: {device.name}" in others


@pytest.mark.parametrize("name", ["sycl", "opencl:cpu", "opencl:cpu:0"])
def test_devices_by_name(device, name):
    if name != "sycl" and not device.is_cpu:
        pytest.skip("the device is no CPU")
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    expected, before = forest.predict_proba(X), find_device(name).n_launches
    np.testing.assert_array_equal(forest.set_params(device=name).predict_proba(X), expected)
    assert find_device(name).n_launches == before + 1
    assert find_device(name) is find_device(name)


def test_a_forest_grown_here_predicts_there(device):
    name = device.queue.sycl_device.filter_string
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    expected, before = forest.predict(X), device.n_launches
    forest.set_params(device=name)
    np.testing.assert_array_equal(forest.predict(X), expected)
    assert forest.score(X, Y) == (expected == Y).mean()
    assert device.n_launches == before + 4
    forest.set_params(device="cpu").predict(X)
    assert device.n_launches == before + 4


@pytest.mark.parametrize("name", ["gpu:7", "cuda:gpu:3", "nothing", "opencl:cpu:9", ""])
def test_unknown_devices(device, name):
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y).set_params(device=name)
    there = device.queue.sycl_device.filter_string
    message = rf"device='{name}': there is no such device(: SYCL's back end for NVIDIA's GPUs.*)?; there are .*\"{there}\""
    with pytest.raises(DeviceError, match=message):
        forest.predict(X)
    with pytest.raises(DeviceError, match=message):
        forest.fit(X, Y)


class OwnSplitter(PythonSplitter):
    def best_cut(self, node, feature):
        return None


def test_what_can_not_be_grown_there(device):
    name = device.queue.sycl_device.filter_string
    with pytest.raises(ValueError, match=rf"OwnSplitter\(\) is not supported for device='{name}', as it is no code"):
        RandomForestClassifier(3, splitter=OwnSplitter(), device=name).fit(X, Y)
    with dforest.config_context(queue=device.queue):
        with pytest.raises(ValueError, match=r"OwnSplitter\(\) is not supported for a queue's device"):
            RandomForestClassifier(3, splitter=OwnSplitter()).fit(X, Y)
    with pytest.raises(NotFittedError):
        RandomForestClassifier(3, device=name).predict(X)


def test_a_failed_fit_leaves_the_estimator_as_it_was(device):
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    before = dict(vars(forest.set_params(device="nothing")))
    with pytest.raises(DeviceError):
        forest.fit(X[:, :2], Y)
    assert vars(forest) == before


def test_wrong_rows(device, model):
    with dforest.config_context(queue=device.queue):
        with pytest.raises(ValueError, match="X has 3 features, but RandomForestClassifier is expecting 4"):
            model.predict(X[:, :3])
        with pytest.raises(ValueError, match="0 sample"):
            model.predict(X[:0])


def test_tests_of_a_splitters_own_are_refused(device, own_test):
    forest = RandomForestClassifier(2, splitter=own_test, max_depth=1, random_state=0).fit(X, Y)
    with dforest.config_context(queue=device.queue):
        with pytest.raises(ValueError, match=r"tests are those of OwnTest\(\), which is not supported on the device"):
            forest.predict(X)


def test_queue_and_device_must_agree(device, part_queues):
    name = device.queue.sycl_device.filter_string
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    with dforest.config_context(queue=device.queue):
        forest.set_params(device=name).predict(X)
        with pytest.raises(ValueError, match='device="cpu" is the processor without SYCL, but config_context or the arrays'):
            forest.set_params(device="cpu").predict(X)
    with dforest.config_context(queue=part_queues[0]):
        with pytest.raises(ValueError, match=f"device='{name}' is .* is on a part of"):
            forest.set_params(device=name).predict(X)
        forest.set_params(device=None).predict(X)


BLOCKED = """
import importlib.abc, sys
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocker())
import dforest
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
forest = dforest.RandomForestClassifier(2, random_state=0).fit(X, y)
*_, sycl = dforest.devices()
print(sycl.device, sycl.usable, sycl.reason)
for call in (forest.predict, lambda X: forest.fit(X, y)):
    try:
        forest.set_params(device="gpu")
        call(X)
    except dforest.errors.DeviceError as error:
        print(error)
forest.set_params(device=None).predict(X)
"""


@pytest.mark.parametrize(
    "module, told", [("dpctl", "pip install 'dpctl>="), ("dforest.backends.sycl.runtime", "built without its module for SYCL")]
)
def test_without_what_devices_need(module, told):
    if module != "dpctl":
        pytest.importorskip("dpctl")
    lines = run(BLOCKED, module).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("sycl False ")
    for line in lines:
        assert told in line and f"{module} is blocked" in line
    for line in lines[1:]:
        assert line.startswith("device='gpu': ")


@pytest.mark.slow
def test_without_a_device(device):
    code = "import dforest; info = dforest.devices()[-1]; print(info.device, info.usable, info.reason)"
    told = run(code, ONEAPI_DEVICE_SELECTOR="cuda:gpu", OCL_ICD_FILENAMES="")
    assert told.startswith("sycl False dpctl sees no SYCL device")
    no_plug_in = ": SYCL's back end for NVIDIA's GPUs, a plug-in of its runtime, is not installed"
    for name, why in {"gpu": "", "cuda:gpu": no_plug_in}.items():
        code = f"import dforest; dforest.DecisionTreeClassifier(device={name!r}).fit([[0], [1]], [0, 1])"
        told = f"DeviceError: device='{name}': there is no such device{why}; dpctl sees no SYCL device"
        with pytest.raises(AssertionError, match=told):
            run(code, ONEAPI_DEVICE_SELECTOR="cuda:gpu", OCL_ICD_FILENAMES="")


@pytest.mark.slow
def test_dforest_loads_nothing_of_sycl():
    code = "import sys, dforest; dforest.DecisionTreeRegressor().fit([[0], [1]], [0, 1]).predict([[0]]); print(*sys.modules)"
    assert not {"dpctl", "dforest.backends.sycl.runtime"} & set(run(code).split())


@pytest.mark.slow
def test_built_kernels_are_kept_for_the_next_process(device, tmp_path):
    code = """
import os, sys
from dforest.backends import find_device
find_device(sys.argv[1])
print(os.environ["SYCL_CACHE_PERSISTENT"], os.environ.get("SYCL_CACHE_DIR"))
"""
    name = device.queue.sycl_device.filter_string
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SYCL_CACHE")}

    def told(**more):
        done = subprocess.run(
            [sys.executable, "-c", code, name], env=environment | more, capture_output=True, text=True, timeout=300
        )
        return done.stdout.split()

    assert told(XDG_CACHE_HOME=str(tmp_path)) == ["1", str(tmp_path / "dforest" / "sycl")]
    assert told(SYCL_CACHE_PERSISTENT="0", XDG_CACHE_HOME=str(tmp_path)) == ["0", "None"]
    assert told(SYCL_CACHE_DIR="/elsewhere")[1] == "/elsewhere"


def test_single_trees(device):
    name = device.queue.sycl_device.filter_string
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    expected = tree.apply(X)
    np.testing.assert_array_equal(tree.set_params(device=name).apply(X), expected)


def test_other_processes(device):
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    expected = forest.predict_proba(X)
    forest.set_params(device=device.queue.sycl_device.filter_string)
    forest.predict(X)  # has its trees on the device
    for found in Parallel(n_jobs=2, backend="loky")(delayed(forest.predict_proba)(X) for _ in range(2)):
        np.testing.assert_array_equal(found, expected)
