"""Settings of the whole test suite, and modules compiled for it."""

import gc
import os
import signal
from pathlib import Path

import pytest
from helpers import compiling, rings

# Python started by a test imports the installed dforest too, never the source folder in the current directory, and the helpers.
os.environ["PYTHONSAFEPATH"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))

# A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run all tests, with all their cases, in place of the short ring")


def pytest_configure(config):
    gc.disable()  # until all is collected
    rings.open_ring(config.getoption("all") or any("::" in argument for argument in config.args))


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config):
    """With `-n auto`, which pyproject.toml asks for: no processes besides this one where one file or less is run."""
    one_file = len(config.args) == 1 and ".py" in config.args[0]
    return 0 if one_file or config.option.collectonly else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if rings.ALL:
        return
    kept = rings.Thinning(items).kept
    left = [item for item in items if item not in kept]
    items[:] = [item for item in items if item in kept]
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish(session):
    """Have the garbage collector pass over all that was imported and collected, which stays until the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def compile_module():
    """Compile a Cython module outside of dforest, given its name and source, and import it."""
    return compiling.compile_module
