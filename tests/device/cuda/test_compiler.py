"""Kernels built by NVRTC, which needs no GPU, and what is kept of them."""

import pytest

from dforest.backends.cuda import compiler
from dforest.engines.device import kernel_source
from dforest.errors import DeviceError


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where built kernels are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CUDA_CACHE_DISABLE", raising=False)
    try:
        compiler._version()
    except DeviceError as error:
        pytest.skip(str(error))
    return tmp_path / "dforest" / "cuda"


@pytest.mark.slow
@pytest.mark.parametrize("kernel", kernel_source.kernels())
def test_all_kernels_are_built(kernel):
    assert compiler.build(kernel, "sm_90")[:4] == b"\x7fELF"


def test_built_kernels_are_kept(folder, monkeypatch):
    code = compiler.build("df_most", "sm_90")
    (file,) = folder.iterdir()
    assert file.read_bytes() == code and b"df_most" in code and b"df_mean" not in code
    file.write_bytes(b"kept")
    assert compiler.build("df_most", "sm_90") == b"kept"
    assert compiler.build("df_most", "sm_80")[:4] == b"\x7fELF"
    monkeypatch.setattr(kernel_source, "main", lambda: '#include "predict.hpp"\n')
    assert compiler.build("df_most", "sm_90")[:4] == b"\x7fELF"
    assert len(list(folder.iterdir())) == 3
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    assert compiler.build("df_apply", "sm_90")[:4] == b"\x7fELF"
    assert len(list(folder.iterdir())) == 3


def test_a_folder_that_can_not_be_made(folder):
    folder.parent.write_text("a file in its place")
    assert compiler.build("df_most", "sm_90")[:4] == b"\x7fELF"
    assert folder.parent.read_text() == "a file in its place"


def test_what_kernels_are_built_for(folder, monkeypatch):
    assert compiler.architecture_for(90) == "sm_90"
    newest = compiler.architecture_for(9990)
    assert newest.startswith("compute_") and b".version" in compiler.build("df_most", newest)
    with pytest.raises(DeviceError, match=r"not of 3\.0; for older ones install that of CUDA 12"):
        compiler.architecture_for(30)
    compiler.check_driver(1000 * compiler._version()[0])
    with pytest.raises(DeviceError, match="driver runs CUDA 9, but NVRTC is of CUDA"):
        compiler.check_driver(9020)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(compiler.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert compiler.build("df_most", "sm_90")[:4] == b"\x7fELF"  # and kept nowhere


def test_what_the_compiler_says_is_told(monkeypatch):
    monkeypatch.setattr(kernel_source, "main", lambda: "this is no code\n")
    with pytest.raises(DeviceError, match=r"(?s)kernel df_most could not be built by NVRTC: NVRTC_ERROR_COMPILATION.*df_most.cu"):
        compiler.build("df_most", "sm_90")
    with pytest.raises(DeviceError, match="NVRTC_ERROR_INVALID_OPTION"):
        compiler.build("df_most", "sm_1")
