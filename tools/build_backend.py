"""meson-python, told what else to install before a build with the module for SYCL devices, and asked for metadata alone.

`pip install .` builds dforest without that module and downloads nothing of SYCL. A build that is told
``--config-settings=setup-args=-Dsycl=enabled`` needs the headers of Intel's SYCL runtime: it asks for the version that
the extra `gpu` names in pyproject.toml.

Wheels have no symbols of compiled modules, where `strip` is there to remove them: a twelfth of what these modules take.

Where a backend has no metadata alone, pip builds the whole wheel for it, and says "Preparing metadata" all that time.
"""

import shutil
import sys
import tomllib
from pathlib import Path

import mesonpy
from mesonpy import build_editable, build_sdist, get_requires_for_build_sdist
from pyproject_metadata import StandardMetadata

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP / "tools"))
from version import version  # noqa: E402

WITH_SYCL = "-Dsycl=enabled"


def _settings():
    return tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))


def _headers(config_settings):
    """The requirements of a build besides those in pyproject.toml."""
    arguments = (config_settings or {}).get("setup-args", [])
    if WITH_SYCL not in ([arguments] if isinstance(arguments, str) else arguments):
        return []
    return [name for name in _settings()["project"]["optional-dependencies"]["gpu"] if name.startswith("intel-sycl-rt")]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = dict(config_settings or {})
    if sys.platform == "linux" and shutil.which("strip"):  # an editable build keeps its symbols, for profilers
        given = settings.get("install-args", [])
        settings["install-args"] = [*([given] if isinstance(given, str) else given), "--strip"]
    return mesonpy.build_wheel(wheel_directory, settings, metadata_directory)


def get_requires_for_build_wheel(config_settings=None):
    return mesonpy.get_requires_for_build_wheel(config_settings) + _headers(config_settings)


def get_requires_for_build_editable(config_settings=None):
    return mesonpy.get_requires_for_build_editable(config_settings) + _headers(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    settings = _settings()
    settings["project"] |= {"version": version(), "dynamic": []}
    metadata = StandardMetadata.from_pyproject(settings, TOP)
    folder = Path(metadata_directory, f"{metadata.name}-{metadata.version}.dist-info")
    folder.mkdir()
    folder.joinpath("METADATA").write_bytes(bytes(metadata.as_rfc822()))
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
