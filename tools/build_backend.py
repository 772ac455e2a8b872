"""meson-python, told what else to install before a build with the module for SYCL devices.

`pip install .` builds dforest without that module and downloads nothing of SYCL. A build that is told
``-Csetup-args=-Dsycl=enabled`` needs the headers of Intel's SYCL runtime: it asks for the version that
the extra `gpu` names in pyproject.toml.
"""

import tomllib
from pathlib import Path

import mesonpy
from mesonpy import build_editable, build_sdist, build_wheel, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

WITH_SYCL = "-Dsycl=enabled"


def _headers(config_settings):
    """The requirements of a build besides those in pyproject.toml."""
    arguments = (config_settings or {}).get("setup-args", [])
    if WITH_SYCL not in ([arguments] if isinstance(arguments, str) else arguments):
        return []
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in project["optional-dependencies"]["gpu"] if name.startswith("intel-sycl-rt")]


def get_requires_for_build_wheel(config_settings=None):
    return mesonpy.get_requires_for_build_wheel(config_settings) + _headers(config_settings)


def get_requires_for_build_editable(config_settings=None):
    return mesonpy.get_requires_for_build_editable(config_settings) + _headers(config_settings)
