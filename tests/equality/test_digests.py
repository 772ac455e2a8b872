"""The program that compares all ways to grow models, and its digest of models: `helpers.digests`."""

import json
from contextlib import contextmanager

import pytest
from helpers import digests
from helpers.rings import examples
from helpers.tunings import EXTREMES

from dforest.core import loops
from dforest.estimators.forest import base


@pytest.mark.parametrize("kind", digests.KINDS)
def test_all_ways_give_the_same_model(kind):
    seen = set()
    for seed in range(1000, 1000 + examples(2)):
        found, different = digests.grow(kind, seed)
        assert not different
        seen.add(found)
    assert len(seen) == examples(2)


def test_there_are_all_ways():
    ways = digests.ways("forest")
    assert {*EXTREMES, "1 threads", "8 threads", "device, sizes 0"} < ways.keys()
    assert {f"{name} loops" for name in loops.names()} < ways.keys()
    for name, (context, parameters) in ways.items():
        if name in EXTREMES:
            with context():
                assert {**base.TUNING} == EXTREMES[name]
            assert parameters == {"n_jobs": 2}
        assert not base.TUNING


def test_a_way_that_gives_another_model_is_named(monkeypatch):
    @contextmanager
    def nothing():
        yield

    monkeypatch.setattr(digests, "ways", lambda kind: {"the same": (nothing, {}), "another": (nothing, {"max_depth": 1})})
    assert digests.grow("forest", 3)[1] == ["another"]


def test_what_is_raised_fails(monkeypatch):
    def raises(kind, seed):
        raise ValueError("of any length, also that of digests")

    monkeypatch.setattr(digests, "grow", raises)
    assert digests.grow_one(("forest", 3)) == ("forest 3", "", ["ValueError: of any length, also that of digests"])


def test_the_program_compares_versions(tmp_path, capsys):
    file = tmp_path / "before.json"
    arguments = ["--problems", "2", "--jobs", "1", "--kind", "isolation"]
    assert digests.main([*arguments, "--write", str(file)]) == 0
    digest = capsys.readouterr().out.split()[-1]
    assert digests.main([*arguments, "--compare", str(file)]) == 0
    assert capsys.readouterr().out.split()[-1] == digest
    before = json.loads(file.read_text())
    assert list(before) == ["isolation 0", "isolation 1"]
    file.write_text(json.dumps(before | {"isolation 1": 32 * "0"}))
    assert digests.main([*arguments, "--compare", str(file)]) == 1
    said = capsys.readouterr().out
    assert "of which 1 differ or are not there\nisolation 1\n" in said
    assert said.split()[-1] == digest


def test_problems_are_of_all_kinds():
    chosen = digests.problems(200, 7)
    assert {kind for kind, _ in chosen} == digests.KINDS.keys()
    assert [seed for _, seed in chosen] == list(range(7, 207))
    assert sum(share for share, _ in digests.KINDS.values()) == 100
