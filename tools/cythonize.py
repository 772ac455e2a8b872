"""Cython for all sources of a folder, in one process: `cythonize.py OPTION... -- DEPFILE SOURCE OUTPUT [SOURCE OUTPUT]...`

A process of its own for each source would take more than three times as long, as each would begin by reading Cython's library of
C code.
Options are those of the command `cython`. What was made before is left as it is where nothing that it depends on has changed:
beside each output there is a file that lists these sources, and one with a digest of them. DEPFILE tells ninja of all of them.
"""

import gc
import hashlib
import sys
from pathlib import Path

import Cython
from Cython.Compiler.CmdLine import parse_command_line
from Cython.Compiler.Main import compile as translate


def sources_of(output):
    """What an output was made from, as Cython listed it; None if it was not made yet."""
    listed = Path(f"{output}.dep")
    if not output.is_file() or not listed.is_file():
        return None
    text = listed.read_text(encoding="utf-8").replace("\\\n", " ").split(":", 1)[1]
    return [Path(name.replace("\0", " ")) for name in text.replace("\\ ", "\0").split()]


def digest(options, paths):
    """A digest of the sources, of the options and of Cython's version; None if a source has gone."""
    whole = hashlib.sha256(repr((Cython.__version__, options)).encode())
    for path in paths:
        if not path.is_file():
            return None
        whole.update(path.read_bytes())
    return whole.hexdigest()


def main(arguments):
    end = arguments.index("--")
    options, depfile, names = arguments[:end], arguments[end + 1], arguments[end + 2 :]
    pairs = [(names[i], Path(names[i + 1])) for i in range(0, len(names), 2)]
    everything = {}
    gc.disable()  # which would take a third of the time, to save half of 500 MB
    for source, output in pairs:
        before = sources_of(output)
        stamp = Path(f"{output}.digest")
        if not before or not stamp.is_file() or digest(options, before) != stamp.read_text(encoding="utf-8"):
            stamp.unlink(missing_ok=True)
            made = output.with_suffix(".new.c")
            parsed, _ = parse_command_line([*options, "-M", "-o", str(made), source])
            if translate(source, parsed).num_errors:
                return 1
            Path(f"{made}.dep").replace(f"{output}.dep")
            if not output.is_file() or made.read_bytes() != output.read_bytes():
                made.replace(output)  # and else what was compiled from it need not be compiled again
            stamp.write_text(digest(options, sources_of(output)), encoding="utf-8")
        everything.update(dict.fromkeys(sources_of(output)))
    escaped = " ".join(str(path).replace(" ", "\\ ") for path in everything)
    Path(depfile).write_text(f"{pairs[0][1]}: {escaped}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
