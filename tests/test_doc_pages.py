"""The documentation's pages do what they say: their examples are run, and whoever follows them gets there.

Blocks of a page:

- ```pycon: an example, run as a doctest, all of a page in one namespace;
- ```{code-block} with a caption: a file of this name in the reader's directory;
- ```sh: commands that the reader types there.
"""

import contextlib
import doctest
import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
import venv
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from sklearn.base import BaseEstimator, is_classifier

import dforest

DOC = Path(__file__).parent.parent / "doc"
BLOCK = re.compile(r"^```(\S*)(?: \w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CAPTION = re.compile(r":caption: (\S+)\n\n")


def blocks(page):
    """The (language, text, line) of all code blocks of a page."""
    text = (DOC / page).read_text(encoding="utf-8")
    return [(match[1], match[2], text.count("\n", 0, match.start(2))) for match in BLOCK.finditer(text)]


NEEDED = {"conversion.md": "onnxruntime", "guide_tables.md": "skrub"}  # by the examples of a page, besides pandas
WITH_EXAMPLES = sorted(page.name for page in DOC.glob("*.md") if any(kind == "pycon" for kind, _, _ in blocks(page.name)))
ANSWERS = "how_do_i.md"
FOLLOWED = ["own_splitter.md", "own_criterion.md", "own_loss.md"]


def test_pages_are_found():
    assert "start.md" in WITH_EXAMPLES
    for page in FOLLOWED:
        kinds = [kind for kind, _, _ in blocks(page)]
        assert kinds.count("{code-block}") >= 6 and kinds.count("sh") >= 4


def run_examples(page):
    """The names that the examples of a page leave behind, after they have been checked."""
    parser, names = doctest.DocTestParser(), {}
    runner = doctest.DocTestRunner()
    told = []
    for kind, text, line in blocks(page):
        if kind == "pycon":
            test = parser.get_doctest(text, names, page, str(DOC / page), line)
            runner.run(test, out=told.append, clear_globs=False)
            names = test.globs
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
    return names


LONG = ["ensembles.md", "guide_boosting.md", "guide_choice.md"]  # whose examples take long


@pytest.mark.parametrize("page", sorted(set(WITH_EXAMPLES) - {ANSWERS, *LONG}))
def test_examples(page):
    pytest.importorskip(NEEDED.get(page, "pandas"))
    run_examples(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", LONG)
def test_long_examples(page):
    test_examples(page)


def test_answers_run(tmp_path, monkeypatch):
    """All code in the second column of a page's tables; models that are not fitted are, to check their parameters."""
    for needed in ("lightgbm", "matplotlib", "onnxruntime", "pandas", "skl2onnx"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    names = run_examples(ANSWERS)
    text = BLOCK.sub("", (DOC / ANSWERS).read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (?!How do I)(.+?) \| (.+?) \|", text, re.MULTILINE)
    answers = [(question, code) for question, answer in rows for code in re.findall(r"`([^`]+)`", answer)]
    assert len(answers) > 50
    for question, code in answers:
        try:
            found = eval(code, names)
            if isinstance(found, BaseEstimator) and not hasattr(found, "n_features_in_"):
                found.fit(*(names["cells"], names["kind"]) if is_classifier(found) else (names["X"], names["y"]))
        except Exception as error:
            raise AssertionError(f"{ANSWERS}: {question}: {code}") from error


def reader(folder):
    """An environment in which what is installed here is installed, and what the reader installs stays apart: its PATH."""
    venv.create(folder, with_pip=True)
    python = [folder / "bin" / "python", "-c"]
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([*python, code], capture_output=True, text=True, check=True).stdout.strip()
    if Path(site, "setuptools").is_dir():  # an old one that comes with Python
        subprocess.run([*python[:1], "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], check=True)
    # An editable dforest lies outside of these, and its .pxd files with it.
    known = [path for path in sys.path if path.endswith("-packages")] + [str(Path(dforest.__file__).parent.parent)]
    Path(site, "here.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in known))
    return os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])


@pytest.mark.slow
@pytest.mark.parametrize("page", FOLLOWED)
def test_who_follows_a_page_gets_there(page, tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools", minversion="71")
    directory = tmp_path / "empty"
    directory.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": reader(tmp_path / "venv"), "OMP_NUM_THREADS": "2"}
    environment |= {"CFLAGS": "-O1 -g0"}  # a reader's modules are faster, and compiled more slowly
    for kind, text, line in blocks(page):
        if kind == "{code-block}":
            name = CAPTION.match(text)
            assert name, f"{page}:{line}: a block without a file name"
            file = directory / name[1]
            assert file.resolve().is_relative_to(directory.resolve()) and file.parent.is_dir()
            file.write_text(text[name.end() :], encoding="utf-8")
        elif kind == "sh":
            command = ["bash", "-euo", "pipefail", "-c", text]
            done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, f"{page}:{line}: {text}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


ROW = {f"x{j}": 1.5 for j in range(9)} | {"town": "Bern"}
BAD = [{**ROW, "x0": "much"}, {**ROW, "x9": 0}, {"x0": 1}, {**ROW, "x0": [1]}, {**ROW, "town": ["Bern"]}, {**ROW, "x0": 10**400}]


def write_files_of_serve(folder):
    for kind, text, _ in blocks("serve.md"):
        if kind == "{code-block}":
            name = CAPTION.match(text)
            (folder / name[1]).write_text(text[name.end() :], encoding="utf-8")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What imports a file of the page about serving, and the probabilities that its model predicts for ROW."""
    pd = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("served")
    write_files_of_serve(folder)
    with contextlib.chdir(folder):
        runpy.run_path("train.py")
        model = dforest.load("model.safetensors")

    def importing(name):
        with contextlib.chdir(folder):
            return runpy.run_path(name)

    shares = model.predict_proba(pd.DataFrame([ROW, {**ROW, "x7": None, "town": "new"}]).astype({"x7": float}))
    return importing, [dict(zip(model.classes_, of_row, strict=True)) for of_row in shares.tolist()]


def test_pythons_own_server_answers(served):
    importing, expected = served
    with ThreadingHTTPServer(("127.0.0.1", 0), importing("serve.py")["Handler"]) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        connection = HTTPConnection(*server.server_address, timeout=60)

        def ask(body):
            connection.request("POST", "/", body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        assert ask(json.dumps(ROW)) == (200, expected[0])
        assert ask(json.dumps({**ROW, "x7": None, "town": "new"})) == (200, expected[1])
        for body in [*map(json.dumps, BAD), "", "{", "[1, 2]", "null", "3"]:
            status, answer = ask(body)
            assert status == 400 and answer.keys() == {"error"}
        assert ask(json.dumps({**ROW, "x9": 0}))[1]["error"].startswith("X has 'x9', which training rows did not have")
        connection.close()
        server.shutdown()


def test_fastapi_answers(served):
    pytest.importorskip("httpx")
    client = pytest.importorskip("fastapi.testclient")
    importing, expected = served
    ask = client.TestClient(importing("app.py")["app"]).post
    assert ask("/predict", json=ROW).json() == expected[0]
    other = {**ROW, "town": "new", "x7": None}
    assert ask("/predict_many", json=[ROW, other]).json() == expected
    assert ask("/predict_many", json=[]).json() == []
    for row in BAD:
        assert ask("/predict", json=row).status_code == 422
        assert ask("/predict_many", json=[ROW, row]).status_code == 422
    misspelt = {name.replace("x7", "X7"): value for name, value in ROW.items()}
    for name, given in (("/predict_many", [ROW, misspelt]), ("/predict", misspelt)):
        told = ask(name, json=given).json()["detail"]
        assert "X lacks 'x7' and has 'X7', which training rows did not have; allowed are the columns 'x0'" in told
    assert ask("/predict_many", json=[ROW, misspelt]).json()["detail"].startswith("row 1: X lacks 'x7'")
    seen = client.TestClient(app := importing("app.py")["app"]).get
    client.TestClient(app).post("/predict_many", json=[ROW, other, {**ROW, "x0": 99}])
    told = seen("/seen").json()
    assert told["rows"] == 3 and told["unseen_labels"]["town"] == told["out_of_range"]["x0"] == 1
    assert sum(told["unseen_labels"].values()) == sum(told["out_of_range"].values()) == 1


def test_the_first_program_answers(served, capsys):
    importing, expected = served
    importing("try.py")
    printed = capsys.readouterr().out
    assert printed.startswith("['late' 'paid'] [[0.") and printed.rstrip().endswith("]")


@pytest.mark.skipif("DFOREST_TEST_WHEEL" not in os.environ, reason="needs a wheel of dforest, which tools/nightly builds")
def test_the_container_answers(served, tmp_path):
    """The steps of the Dockerfile in an environment of its own, but for those of the system; then a request."""
    _, expected = served
    write_files_of_serve(tmp_path)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    shutil.copy(os.environ["DFOREST_TEST_WHEEL"], tmp_path)
    steps = (tmp_path / "Dockerfile").read_text(encoding="utf-8").splitlines()
    service = tmp_path / "service"
    service.mkdir()
    venv.create(tmp_path / "venv", with_pip=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]])
    for step in steps:
        kind, _, rest = step.partition(" ")
        if kind == "COPY":
            for pattern in rest.split()[:-1]:
                (found,) = tmp_path.glob(pattern)
                shutil.copy(found, service)
        elif kind == "RUN" and not rest.startswith("apt-get"):
            subprocess.run(["bash", "-euc", rest], cwd=service, env=environment, check=True)
    listed = subprocess.run(["pip", "list"], env=environment, capture_output=True, text=True, check=True).stdout
    assert "dforest" in listed and not re.search("scikit-learn|scipy|joblib|pandas", listed)
    (command,) = (json.loads(step.removeprefix("CMD ")) for step in steps if step.startswith("CMD "))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [{"0.0.0.0": "127.0.0.1", "8000": str(port)}.get(word, word) for word in command]
    with subprocess.Popen(command, cwd=service, env=environment) as server:
        try:
            assert ask_soon(port, json.dumps(ROW)) == expected[0]
        finally:
            server.terminate()


def ask_soon(port, body):
    """What a server answers that has been started just now."""
    for _ in range(100):
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def test_the_server_of_a_pipeline_answers(tmp_path, monkeypatch):
    pytest.importorskip("httpx")
    pytest.importorskip("pandas")
    client = pytest.importorskip("fastapi.testclient")
    write_files_of_serve(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    pipeline = runpy.run_path("train_pipeline.py")["pipeline"]
    ask = client.TestClient(runpy.run_path("app_pipeline.py")["app"]).post
    row = {"since": "03/04/2021", "amount": 90, "town": "Oslo"}
    likely, unlikely = ask("/predict_many", json=[row, {**row, "since": "03/04/2016"}]).json()
    assert likely.keys() == {"yes", "no"} and likely["yes"] > 0.9 > 0.1 > unlikely["yes"]
    assert len(ask("/predict_many", json=[{**row, "amount": None}, {**row, "town": "new"}]).json()) == 2
    for wrong, name in (({"since": "03/04/2021", "town": "Oslo"}, "amount"), ({**row, "tonw": "Oslo"}, "tonw")):
        answered = ask("/predict_many", json=[row, wrong])
        assert answered.status_code == 422
        assert answered.json()["detail"].startswith(f"row 1 lacks or should not have ['{name}']; allowed: ['amount', 'since'")
    assert ask("/predict_many", json=[]).json() == [] and pipeline[-1].feature_names_in_.tolist() == ["since", "amount", "town"]
    for bad in ({"amount": "much"}, {"since": "2021-04-03"}, {"town": ["Bern"]}):
        assert ask("/predict_many", json=[{**row, **bad}]).status_code == 422


PATH = re.compile(r"`((?:[\w.-]+/)+(?:[\w-]+\.\w+)?|[\w-]+\.(?:py|md|toml|build))`")
ROOT = DOC.parent


@pytest.mark.parametrize(
    "page, some", [("internals.md", {"core/search/criterion.pyx", "engines/problem.py"}), ("machinery.md", {"tests/rules/"})]
)
def test_the_map_names_files_that_exist(page, some):
    """Paths in these pages begin in the package's folder or in the repository's."""
    text = BLOCK.sub("", (DOC / page).read_text(encoding="utf-8"))
    named = set(PATH.findall(text))
    assert len(named) > 50 and some <= named
    lost = [path for path in sorted(named) if not any((folder / path).exists() for folder in (ROOT / "dforest", ROOT))]
    assert not lost, f"{page} names {', '.join(lost)}, which are not there"
    # A file is named with its folder, or it could not be looked for.
    alone = re.findall(r"`[\w-]+\.(?:pyx|pxd|hpp|cpp)`", text)
    assert not alone, f"{page} names {', '.join(alone)} without a folder"


def test_the_map_names_every_folder():
    text, package = (DOC / "internals.md").read_text(encoding="utf-8"), ROOT / "dforest"
    folders = {path.parent.relative_to(package).as_posix() for kind in ("*.py", "*.pyx") for path in package.rglob(kind)}
    missing = [folder for folder in sorted(folders - {"."}) if f"`{folder}/`" not in text]
    assert not missing, f"internals.md does not name the folders {', '.join(missing)}"
