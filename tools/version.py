"""Print the version of dforest, from git's tags.

At the tag v0.2.0 it is 0.2.0; twelve commits later, 0.2.1.dev12+gab12cd3, where ab12cd3 is the commit; after v0.2.0rc1, versions
lead to 0.2.0rc2. Before the first tag, they lead to FIRST. A source archive, which has no history, keeps its version in the file
VERSION: meson calls this script with --keep when it makes one.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
KEPT = "VERSION"
FIRST = "0.1.0"


def version():
    """The version of the files as they lie here: str."""
    kept = TOP / KEPT
    if kept.is_file():
        return kept.read_text(encoding="ascii").strip()
    described = _git("describe", "--tags", "--long", "--match", "v[0-9]*")
    if described:
        tag, n_commits, commit = re.fullmatch(r"v(.+)-(\d+)-g(\w+)", described).groups()
        if n_commits == "0":
            return tag
        following = re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), tag)
    else:
        following, n_commits, commit = FIRST, _git("rev-list", "--count", "HEAD"), _git("rev-parse", "--short=7", "HEAD")
    return f"{following}.dev{n_commits}+g{commit}" if n_commits else f"{following}.dev0"


def _git(*arguments):
    """What a command of git prints; empty if these files are not the root of a repository of git's."""
    if not (TOP / ".git").exists():
        return ""
    try:
        return subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--keep"]:
        Path(os.environ["MESON_DIST_ROOT"], KEPT).write_text(f"{version()}\n", encoding="ascii")
    else:
        print(version())
