"""What shards of a problem's rows say together is what one shard of all rows says, whichever rows each has: none, too."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.device_forests import fit_there, random_fit, random_fit_of_outputs, standing_in
from helpers.host_device import strict_device

from dforest.engines.device import engine
from dforest.engines.device.sampling import RowCounts
from dforest.engines.device.shard import ForestShard
from dforest.engines.device.training import Training, Tuning
from dforest.rules import arrays, outputs
from dforest.rules.records import record


class Caught(Exception):
    """A problem on its way to a device."""


def problem_of(seed, monkeypatch, make=random_fit):
    """The problem that a random estimator would have a device grow, by a criterion of sums over rows."""
    estimator, *given = make(seed)
    if estimator.criterion == "absolute_error":
        estimator.set_params(criterion="squared_error")

    def catch(problem, *_):
        raise Caught(problem)

    monkeypatch.setattr(engine, "DeviceSession", catch)
    with standing_in(strict_device()), pytest.raises(Caught) as caught:
        fit_there(estimator, *given)
    return caught.value.args[0]


def of_rows(problem, rows):
    """A problem's share of some rows."""
    columns = tuple(column._replace(codes=np.ascontiguousarray(column.codes[rows])) for column in problem.columns)
    given = {name: getattr(problem.targets, name) for name in ("classes", "numbers", "weight", "exact_weight")}
    cut = {name: None if array is None else array[rows] for name, array in given.items()}
    return replace(problem, columns=columns, targets=replace(problem.targets, **cut))


def shard_of(problem, rows, counts, weight):
    device = strict_device()
    training = Training(device, of_rows(problem, rows), Tuning(device, {"subtree_up_to": 0, "chunk": 16}))
    known = RowCounts.known(device, np.ascontiguousarray(counts[:, rows]))
    seeds = problem.seeds_of(range(len(counts)))
    if weight is not None:
        weight = [
            own._replace(integers=own.integers[rows], exact=None if own.exact is None else own.exact[rows]) for own in weight
        ]
    return ForestShard(training, seeds, known, weight)


def cut_rows(n_rows, rng):
    """Rows cut into shards, two of them empty, and one of a single row."""
    ends = np.sort(rng.integers(0, n_rows + 1, 2))
    return np.split(rng.permutation(n_rows), [0, *ends, max(n_rows - 1, ends[-1])]) + [np.zeros(0, np.int64)]


def least(answers):
    return np.min(answers, axis=0)


def greatest(answers):
    return np.max(answers, axis=0)


def assert_ends(whole, answers):
    """Ranges of all rows are made of those of shards."""
    whole, answers = np.asarray(whole), np.stack(answers)
    is_range = whole[..., 0] <= whole[..., 1]
    together = np.stack([least(answers[..., 0]), greatest(answers[..., 1])], axis=-1)
    assert (together[is_range] == whole[is_range]).all()
    assert (together[~is_range][:, 0] > together[~is_range][:, 1]).all()


@pytest.mark.parametrize("seed", range(24))
def test_shards_add_up(seed, monkeypatch):
    assert_shards_add_up(problem_of(seed, monkeypatch), seed)


@pytest.mark.parametrize("seed", range(8))
def test_shards_add_up_several_outputs(seed, monkeypatch):
    assert_shards_add_up(problem_of(seed, monkeypatch, random_fit_of_outputs), seed)


def assert_shards_add_up(problem, seed):
    rng = np.random.default_rng(seed)
    n_trees, n_rows, n_features, weight = 2, problem.n_rows, problem.n_features, None
    seeds, everything = problem.seeds_of(range(n_trees)), np.arange(n_rows)
    if problem.targets.balance is None:
        counts = np.stack([problem.sampling.counts(n_rows, int(tree)) for tree in seeds])
    else:
        counts, weight = problem.weigh_draws(seeds)
    cuts_of_rows = [everything, *cut_rows(n_rows, rng)]
    whole, *shards = (shard_of(problem, np.sort(rows), counts, weight) for rows in cuts_of_rows)
    assert [len(shard.records) for shard in shards].count(0) >= 2
    is_regression, layout = not problem.objective.predicts_shares, whole.training.layout
    open_nodes = [shard.roots for shard in (whole, *shards)]
    has_outputs, number = layout.outputs is not None, layout.criterion_number
    of_nodes = np.tile(layout.outputs, (n_trees, 1)) if has_outputs else None
    root_weight = whole.add_up(whole.roots, of_nodes)[0][:, 1]
    for own in open_nodes:
        own["root_weight"] = root_weight

    def ask(name, *arguments):
        """What the shard of all rows answers, and what the others do."""
        first, *others = (getattr(shard, name)(own, *arguments) for shard, own in zip((whole, *shards), open_nodes, strict=True))
        return first, others

    n_empty = 0
    for level in range(5):
        if is_regression:  # some nodes get a scale of their own, as all roots do
            exact, others = ask("target_extents")
            assert_ends(exact, others)
        if is_regression and has_outputs:
            of_nodes = np.tile(layout.outputs, (len(exact), 1))
            outputs.scale(number, exact, of_nodes)
        elif is_regression:
            exact = exact[:, 0].copy()
            is_scaled = (exact[:, 0] < exact[:, 1]) & (rng.random(len(exact)) < (0.5 if level else 1.0))
            scales = arrays.choose_scales(exact[is_scaled])
            for shard, own in zip((whole, *shards), open_nodes, strict=True):
                own["scale"]["centre"][is_scaled], own["scale"]["exponent"][is_scaled] = scales
                shard.requantise(own[is_scaled])
        elif has_outputs:
            of_nodes = np.tile(layout.outputs, (len(open_nodes[0]), 1))
        (totals, extents), others = ask("add_up", of_nodes)
        if has_outputs:
            outputs.measure(number, layout.is_wide, totals, of_nodes)
        assert np.array_equal(totals, np.sum([sums for sums, _ in others], axis=0))
        for own, (sums, _) in zip(open_nodes[1:], others, strict=True):
            assert not sums[own["n"] == 0].any()
        if is_regression and not has_outputs:
            assert_ends(extents, [found for _, found in others])
        n_empty += sum((own["n"] == 0).sum() for own in open_nodes[1:])

        features = np.array([rng.permutation(n_features)[:4] for _ in open_nodes[0]], np.int32).reshape(len(open_nodes[0]), -1)
        ranges = None
        if layout.has_keys:
            ranges, others = ask("key_ranges", features)
            assert_ends(ranges, others)
        histograms, others = ask("count", features, ranges, of_nodes)
        summed = np.sum([histogram.get() for histogram in others], axis=0)
        assert np.array_equal(histograms.get(), summed)
        found, subsets = whole.find_cuts(open_nodes[0], totals, of_nodes, features, ranges, histograms)
        for shard, own in zip(shards, open_nodes[1:], strict=True):
            again, subsets_again = shard.find_cuts(own, totals, of_nodes, features, ranges, shard.device.array(summed))
            assert again.tobytes() == found.tobytes()
            has_subset = (found["score"] >= 0) & (layout.table["kind"][features] == 2)
            assert np.array_equal(subsets_again[has_subset], subsets[has_subset])

        best = found["score"].argmax(axis=1)
        at = np.arange(len(found)), best
        cuts, subsets = found[at], subsets[at]
        keep = cuts["score"] >= 0
        open_nodes = [own[keep] for own in open_nodes]
        cuts, subsets = cuts[keep], np.ascontiguousarray(subsets[keep])
        if len(cuts) == 0:
            break
        n_left, others = ask("partition", cuts, subsets)
        assert np.array_equal(n_left, np.sum(others, axis=0))
        monotonic_csts = layout.table["monotonic_cst"][cuts["feature"]]
        open_nodes = [
            arrays.children(own, n, monotonic_csts, cuts["midpoint"].copy())
            for own, n in zip(open_nodes, [n_left, *others], strict=True)
        ]
    assert n_empty > 0

    # A node's rows are those that its shards have of it.
    for open_node, *own_open_nodes in zip(*open_nodes, strict=True):
        def rows_of(shard, own, rows):
            return np.sort(rows)[shard.rows()[own["first"] : own["first"] + own["n"]]]

        together = [rows_of(*its) for its in zip(shards, own_open_nodes, cuts_of_rows[1:], strict=True)]
        assert np.array_equal(np.sort(np.concatenate(together)), np.sort(rows_of(whole, open_node, everything)))
    nodes = [np.zeros(len(own), record("df_grown")) for own in open_nodes]
    for grown, own in zip(nodes, open_nodes, strict=True):
        for name in ("first", "n", "first_weight", "weight_shift", "scale", "lower", "upper"):
            grown[name] = own[name]
    words, *others = (shard.leaf_words(grown) for shard, grown in zip((whole, *shards), nodes, strict=True))
    if whole.has_exact_weights:  # by a shift of each leaf's own, above its draws
        draws = [found[:, 0] & ((1 << 48) - 1) for found in (words, *others)]
        assert np.array_equal(draws[0], np.sum(draws[1:], axis=0))
    else:
        n_added = 2 if is_regression else words.shape[1]  # draws and weight; the rest follows from exact targets
        assert np.array_equal(words[:, :n_added], np.sum(others, axis=0)[:, :n_added])
    for grown, found in zip(nodes[1:], others, strict=True):
        assert not found[grown["n"] == 0].any()
