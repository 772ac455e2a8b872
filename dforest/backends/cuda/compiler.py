"""From the source of a kernel to code for a GPU, by NVIDIA's run-time compiler, NVRTC; built kernels are kept on disk.

Each kernel is built for itself, when it is first run or when a session asks for those of its kind, as few fits and predictions
need all of them. What is kept is named by a digest of all that it was made of: nobody has to tell a stale file from a good one.
"""

import os
import re
import tempfile
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from dforest.backends.cuda.driver import bindings
from dforest.engines.device import kernel_source
from dforest.errors import DeviceError
from dforest.extras import install_command

# Each operation is rounded, as on the processor; what has no mark of CUDA's is code for the GPU.
_OPTIONS = ("--std=c++17", "--fmad=false", "--device-as-default-execution-space", "--disable-warnings",
            "-DDF_ON_CUDA", "-DDF_LARGE_GROUPS")  # fmt: skip
_STANDARD = ("float.h", "math.h", "stddef.h", "stdint.h", "string.h")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def build(kernel, architecture):
    """Code for a kernel, new or kept.

    Parameters
    ----------
    kernel : str
    architecture : str
        As `architecture_for` gives it.

    Returns
    -------
    bytes

    Raises
    ------
    DeviceError
        With what the compiler says; or if there is no compiler.
    """
    source = kernel_source.main()
    files = {name: _only(kernel, text) for name, text in _headers().items()}
    options = (*_OPTIONS, f"--gpu-architecture={architecture}")
    path = _kept_at(kernel, repr((source, sorted(files.items()), options, _version())))
    if path is None:
        return _compiled(kernel, source, files, options)
    with suppress(OSError):  # of a file that is not there, or can't be read
        return path.read_bytes()
    code = _compiled(kernel, source, files, options)
    _keep(path, code)
    return code


def architecture_for(capability):
    """What kernels are built for: "sm_90", say, or, for GPUs newer than the compiler, code that the driver goes on to compile.

    Parameters
    ----------
    capability : int
        Ten times the compute capability of a GPU.

    Raises
    ------
    DeviceError
        If the compiler does not know GPUs that old; or if there is no compiler.
    """
    known = sorted(int(number) for number in _nvrtc("nvrtcGetSupportedArchs"))
    if capability in known:
        return f"sm_{capability}"
    if capability < known[0]:
        raise DeviceError(
            f"NVRTC of CUDA {_version()[0]} builds kernels for GPUs of compute capability {known[0] / 10} or a later one, not of "
            f"{capability / 10}; for older ones install that of CUDA 12: {install_command('cuda12')}"
        )
    return f"compute_{max(number for number in known if number < capability)}"


def check_driver(version):
    """Raise DeviceError unless a driver of a version, such as 13000 for CUDA 13.0, runs what NVRTC makes."""
    if version // 1000 < _version()[0]:
        raise DeviceError(
            f"NVIDIA's driver runs CUDA {version // 1000}, but NVRTC is of CUDA {_version()[0]}; install a newer driver, or the "
            f"packages of CUDA 12: {install_command('cuda12')}"
        )


def _only(kernel, text):
    """A file in which all other kernels are functions that nobody calls, which are not compiled."""
    return re.sub(rf"^DF_KERNEL (?!{kernel}\()", "static void ", text, flags=re.MULTILINE)


@cache
def _headers():
    """All that kernels include: a dict of names to texts, where files include each other by these names."""
    known = kernel_source.files()
    standard = Path(__file__).with_name("standard.h").read_text(encoding="utf-8")
    return {name: _with_whole_names(name, text, known) for name, text in known.items()} | dict.fromkeys(_STANDARD, standard)


def _with_whole_names(name, text, known):
    folder = PurePosixPath(name).parent

    def whole(match):
        beside = os.path.normpath(folder / match[1])
        return f'#include "{beside if beside in known else match[1]}"'

    return _INCLUDE.sub(whole, text)


@cache
def _version():
    return _nvrtc("nvrtcVersion")


def _nvrtc(name, *arguments):
    """Call a function of NVRTC; what it gives besides its status."""
    function = getattr(bindings("nvrtc"), name)
    try:
        status, *values = function(*arguments)
    except RuntimeError as error:  # where it finds no library
        raise DeviceError(f"NVIDIA's compiler NVRTC is not installed, or can't be loaded ({error})") from error
    if status:
        _, text = bindings("nvrtc").nvrtcGetErrorString(status)
        raise DeviceError(f"{text.decode(errors='replace')} ({name})")
    return values[0] if len(values) == 1 else tuple(values)


def _compiled(kernel, source, files, options):
    names, texts = ([part.encode() for part in parts] for parts in (files.keys(), files.values()))
    program = _nvrtc("nvrtcCreateProgram", source.encode(), f"{kernel}.cu".encode(), len(files), texts, names)
    try:
        try:
            _nvrtc("nvrtcCompileProgram", program, len(options), [option.encode() for option in options])
        except DeviceError as error:
            log = b" " * _nvrtc("nvrtcGetProgramLogSize", program)
            _nvrtc("nvrtcGetProgramLog", program, log)
            said = log.decode(errors="replace").rstrip("\0 \n")
            raise DeviceError(f"the kernel {kernel} could not be built by NVRTC: {error}\n{said}") from None
        form = "PTX" if any("=compute_" in option for option in options) else "CUBIN"
        code = b" " * _nvrtc(f"nvrtcGet{form}Size", program)
        _nvrtc(f"nvrtcGet{form}", program, code)
        return code
    finally:
        bindings("nvrtc").nvrtcDestroyProgram(program)


def _kept_at(kernel, made_of):
    """Where a kernel is kept; None if the user has told CUDA to keep nothing, or has no folder for such."""
    if os.environ.get("CUDA_CACHE_DISABLE", "0") not in ("", "0"):
        return None
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # without a home
        return None
    return Path(home) / "dforest" / "cuda" / f"{kernel}-{sha256(made_of.encode()).hexdigest()}.cubin"


def _keep(path, code):
    """Write a file whole or not at all. Where nothing can be written, the next process builds the kernel again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            try:
                file.write(code)
                file.flush()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
