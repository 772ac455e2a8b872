"""Settings of the whole test suite."""

import os

import pytest
from helpers import compiling

# Python started by a test imports the installed dforest too, never the source folder in the current directory.
os.environ["PYTHONSAFEPATH"] = "1"


@pytest.hookimpl(tryfirst=True)  # before -m looks at marks
def pytest_collection_modifyitems(items):
    """Mark as quick the first case of every test that is not marked as slow."""
    seen = set()
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        if test not in seen and not item.get_closest_marker("slow"):
            item.add_marker("quick")
        seen.add(test)


@pytest.fixture(scope="session")
def compile_module():
    """Compile a Cython module outside of dforest, given its name and source, and import it."""
    return compiling.compile_module
