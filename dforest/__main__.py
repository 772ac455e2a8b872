"""``python -m dforest``: which devices there are; or a script, in which scikit-learn's trees and forests are dforest's."""

import argparse
import runpy
import sys
from pathlib import Path

from dforest import devices, patch_sklearn


def main(arguments=None):
    """Run a command."""
    parser = argparse.ArgumentParser(
        prog="python -m dforest",
        usage="%(prog)s [-h] (devices | [-v] SCRIPT ... | [-v] -m MODULE ...)",
        description="Decision forests.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for python -m")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print what is dforest's in the script, and what is not")
    parser.add_argument(
        "script",
        metavar="SCRIPT",
        help="a script to run, in which scikit-learn's trees and forests are dforest's (see dforest.patch_sklearn); or devices: "
        "list what the parameter device of estimators may be here",
    )
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="of the script")
    asked = parser.parse_args(arguments)
    if asked.script == "devices" and not asked.module:
        for info in devices():
            print(f"{info.device}: " + (info.name if info.usable else f"{info.name + ': ' if info.name else ''}{info.reason}"))
        return
    patch_sklearn(verbose=asked.verbose)
    sys.argv = [asked.script, *asked.arguments]
    if asked.module:
        sys.path[0] = ""
        runpy.run_module(asked.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(asked.script).resolve().parent)
        runpy.run_path(asked.script, run_name="__main__")


if __name__ == "__main__":
    main()
