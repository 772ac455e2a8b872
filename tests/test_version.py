"""The version of dforest follows from tags of git, and reports of bugs have what they need."""

import importlib.util
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import dforest

TOOL = Path(__file__).parents[1] / "tools" / "version.py"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def found_in(folder):
    (folder / "tools").mkdir(exist_ok=True)
    shutil.copy(TOOL, folder / "tools" / "version.py")
    spec = importlib.util.spec_from_file_location("version_of_a_folder", folder / "tools" / "version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.version()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_versions_follow_from_tags(tmp_path):
    def git(*arguments):
        subprocess.run([*GIT, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    found = []
    for tag in (None, None, "v0.1.0", "other", None, "v1.2.9", None, "v2.0.0rc9", None):
        git("commit", "--allow-empty", "-m", "a change")
        if tag:
            git("tag", tag)
        found.append(found_in(tmp_path))
    commit = r"\+g[0-9a-f]{7}"
    expected = [rf"0\.1\.0\.dev1{commit}", rf"0\.1\.0\.dev2{commit}", r"0\.1\.0", rf"0\.1\.1\.dev1{commit}",
                rf"0\.1\.1\.dev2{commit}", r"1\.2\.9", rf"1\.2\.10\.dev1{commit}",
                r"2\.0\.0rc9", rf"2\.0\.0rc10\.dev1{commit}"]  # fmt: skip
    assert all(re.fullmatch(*pair) for pair in zip(expected, found, strict=True)), found


def test_without_a_history(tmp_path):
    assert found_in(tmp_path) == "0.1.0.dev0"
    (tmp_path / "VERSION").write_text("3.4.5\n")
    assert found_in(tmp_path) == "3.4.5"


def test_what_a_report_has(capsys):
    dforest.show_versions()
    printed = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert printed["dforest"] == dforest.__version__ == version("dforest")
    assert printed["numpy"] == version("numpy")
    assert printed["loops"].split()[0] in printed["loops"].split(" of ")[1]
