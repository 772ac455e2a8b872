"""``python -m dforest devices``: which devices there are."""

import argparse

from dforest import devices


def main(arguments=None):
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m dforest", description="Decision forests.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("devices", help="list what the parameter device of estimators may be here")
    parser.parse_args(arguments)
    for info in devices():
        print(f"{info.device}: " + (info.name if info.usable else f"{info.name + ': ' if info.name else ''}{info.reason}"))


if __name__ == "__main__":
    main()
