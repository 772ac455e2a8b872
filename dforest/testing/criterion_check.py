"""Whether a criterion keeps the contract of ``dforest/core/search/criterion.pxd``."""

import pickle
from functools import partial

import numpy as np
from sklearn.base import clone

from dforest.core.search.criterion import Criterion
from dforest.core.search.split_evaluator import scores_statistics
from dforest.estimators.data.fits import instance_of
from dforest.splitter import PythonSplitter
from dforest.testing.conformance import (
    TASKS,
    ConformanceError,
    Trial,
    broken,
    check_inputs,
    check_parameters,
    check_pickled,
    check_same_forests,
    make_problem,
    with_cause,
)
from dforest.testing.grown_trees import OWN_SCORE, check_scores

INCOMPLETE = "Impurities that leave out a term that all splits of a node have in common are checked with complete=False"
TOGETHER = "Scores that depend on the other splits that are scored with them are checked with alone=False"


class _BadScore(Exception):
    pass


class EveryCut(PythonSplitter):
    """Scores the cuts of a feature one by one, and takes the first of the best; if no cut scores above 0, the most balanced."""

    def best_cut(self, node, feature):
        codes = np.unique(node.codes(feature)).tolist()
        scores = [node.score_cut(feature, code) for code in codes]
        for score in scores:
            if not np.isfinite(score) or (score < 0 and score != -1.0):
                raise _BadScore(f"a cut of feature {feature} scores {score}")
        if max(scores) != 0.0:
            return codes[int(np.argmax(scores))] if max(scores) > 0 else None
        weight = node.counts.astype(np.int64) * node.weights
        imbalance = [abs(2 * int(weight[node.codes(feature) <= code].sum()) - int(weight.sum())) for code in codes]
        allowed = [i for i, score in enumerate(scores) if score == 0.0]
        return codes[min(allowed, key=imbalance.__getitem__)]


def check_criterion(criterion, *, tasks=None, complete=True, own_score=False, alone=True, methods=("hist", "dense")):
    """Check that a criterion keeps the rules of its contract, as far as small forests show it; raise an error if not.

    Parameters
    ----------
    criterion : Criterion, or a subclass
        The criterion; a class is called without arguments.
    tasks : sequence of {"two classes", "four classes", "regression"}, default=None
        Tasks that the criterion is tried with. None means all that its method `configure` does not refuse.
    complete : bool, default=True
        Whether impurities are complete: 0 for a pure node, and never below 0. They are incomplete if they leave out a term that
        all splits of a node have in common.
    own_score : bool, default=False
        Whether the criterion scores splits by something else than the node's weight times the decrease of its impurity.
    alone : bool, default=True
        Whether the score of a split does not depend on the other splits that are scored with it.
    methods : sequence of {"hist", "dense"}
        Values of `method` that the criterion is tried with; by default both.

    Raises
    ------
    ConformanceError
        If a rule is broken. The message names the class and the rule, and has the numbers that show it. It is an
        AssertionError.

    Notes
    -----
    These are the rules:

    - `configure` raises ValueError for tasks that the criterion is not for.
    - A question that is asked again gets an equal answer, also from clones and pickled copies.
    - Of many splits the first of the best ones is found, with the score that it has alone. Scores are finite, not below 0, and
      equal to the weight times the decrease of impurity.
    - Impurities are finite, not below 0, and 0 for a pure node; leaf values are finite.
    - In classification, dividing a node does not raise the mean impurity, in which sides count by their weights. A split that
      raised it would score 0, as if it were useless, without an error. This is checked if impurities are complete, and no
      score of its own is used.
    - A forest that is grown again is equal to the bit: on 1, 2 and 8 threads, whether codes are copied or not, and whichever
      nodes and trees came before.
    - Data are not written to, and no memory around them is read.

    Examples
    --------
    >>> from dforest.criterion import Gini
    >>> from dforest.testing import check_criterion
    >>> check_criterion(Gini)
    """
    criterion = instance_of(Criterion, "criterion", criterion)
    if not isinstance(criterion, Criterion):
        raise TypeError(f"criterion={criterion!r}; allowed are objects and subclasses of dforest.criterion.Criterion")
    check_parameters(criterion)
    tasks = tasks_of(criterion) if tasks is None else tasks
    for task in tasks:
        try:
            Trial("criterion", criterion, make_problem(task, False), method=methods[0]).fit()
        except ConformanceError:
            raise
        except Exception as error:
            if any(map(partial(_can_fit, criterion, methods[0]), tasks)):
                rule = "configure refuses tasks that the criterion is not for by ValueError"
                raise broken(criterion, rule, f"it took {task}; a fit then raised {error!r}") from error
            shown = (
                f"for {task} it raised {error!r}. Methods are asked about n sets of draws at once, and return arrays of shape "
                "(n,); if the criterion is not for this task, configure is to raise ValueError"
            )
            raise broken(criterion, "a fit ends without an exception", shown) from error
        n_classes = TASKS[task]
        if n_classes and scores_statistics(criterion):
            check_questions(criterion, n_classes, complete, own_score, alone)
        for method in methods:
            for is_mixed in (False, True):
                trial = Trial("criterion", criterion, make_problem(task, is_mixed), method=method)
                with_cause(trial, lambda trial: check_forests(trial, complete, own_score))
            if alone:
                check_single_cuts(Trial("criterion", criterion, make_problem(task, False, n_rows=60), method=method))
    for method in methods:
        check_inputs(Trial("criterion", criterion, make_problem(tasks[0], True), method=method))


def _can_fit(criterion, method, task):
    try:
        Trial("criterion", criterion, make_problem(task, False), method=method).fit()
    except Exception:
        return False
    return True


def check_forests(trial, complete, own_score):
    """Raise unless the forests that are grown on a problem keep all rules."""
    fitted = check_same_forests(trial)
    check_nodes(trial, fitted, complete)
    check_pickled(trial, fitted)
    if not own_score:
        check_scores(trial, fitted, lambda tree, t: tree.forest.node_table(t).decrease)


def tasks_of(criterion):
    """The tasks that a criterion does not refuse."""
    result = []
    rule = "configure refuses tasks that the criterion is not for by ValueError"
    for task, n_classes in TASKS.items():
        try:
            configured = clone(criterion).configure(n_classes, False)
        except ValueError:
            continue
        except Exception as error:
            raise broken(criterion, rule, f"{task}: it raised {error!r}") from error
        if configured.n_classes != n_classes or configured.n_words < 2:
            shown = f"{task}: n_classes={configured.n_classes}, n_words={configured.n_words}"
            raise broken(criterion, "configure calls its base's", shown)
        result.append(task)
    if not result:
        raise broken(criterion, "configure takes some task", f"it refuses each of {', '.join(TASKS)}")
    return result


def class_cuts(rng, n_classes, largest, n_cuts=40):
    """Random statistics of the left sides of some cuts, and of the node; all sides have weight."""
    total = rng.integers(1, largest, n_classes, endpoint=True)
    left = rng.integers(0, total, (n_cuts, n_classes), endpoint=True)
    left = left[(left.sum(axis=1) > 0) & (left.sum(axis=1) < total.sum())]
    # Each draw has the weight 1.
    return np.hstack([left.sum(axis=1, keepdims=True)] * 2 + [left]), np.hstack([[total.sum()] * 2, total])


def answers(configured, left, total):
    """What a configured criterion says of a node: of all its cuts together, of each cut alone, and its impurity."""
    singles = [configured.score_cuts(cut[None].copy(), total) for cut in left]
    # -1 if the cut is not allowed, NaN if it has no score.
    scores = np.array([-1.0 if best < 0 else score if score >= 0 else np.nan for best, score in singles])
    return configured.score_cuts(left, total), scores, configured.impurity_of(total)


def check_questions(criterion, n_classes, complete, own_score, alone):
    """Raise unless a criterion's answers about generated statistics of classes are right, and equal each time."""
    rng = np.random.default_rng(n_classes)
    others = {
        "the object itself": criterion.__sklearn_clone__().configure(n_classes),
        "a clone": clone(criterion).configure(n_classes).clone(),
        "a pickle": pickle.loads(pickle.dumps(criterion)).configure(n_classes),
    }
    nodes = []
    for largest in (3, 30, 10**6):
        for _ in range(8):
            left, total = class_cuts(rng, n_classes, largest)
            if len(left):
                nodes.append((left, total))
    first = others["the object itself"]
    expected = [answers(first, left, total) for left, total in nodes]
    for way, other in others.items():
        for (left, total), before in reversed(list(zip(nodes, expected, strict=True))):
            after = answers(other, left, total)
            if before[0] != after[0] or before[1].tobytes() != after[1].tobytes() or before[2] != after[2]:
                shown = f"of {total.tolist()}: {before[0]}, impurity {before[2]}; later, {way}: {after[0]}, {after[2]}"
                raise broken(criterion, "the same question has the same answer", shown)
    for (left, total), (found, scores, impurity) in zip(nodes, expected, strict=True):
        if alone:
            check_scan(criterion, left, total, found, scores)
        if not own_score:
            base = np.array([first.score_cuts(cut[None].copy(), total, base=True)[1] for cut in left])
            allowed = scores >= 0
            if not np.allclose(scores[allowed], base[allowed], rtol=1e-6, atol=1e-9 * float(total[1])):
                place = int(np.argmax(np.abs(scores - base) * allowed))
                found = f"{left[place].tolist()} of {total.tolist()} scores {scores[place]}; by impurities, {base[place]}"
                raise broken(criterion, "scores are the weight times the decrease of impurity", f"{found}. {OWN_SCORE}")
            if complete:
                check_division(criterion, first, left, total)
        if complete:
            pure = total * 0
            pure[[0, 1, 2 + int(total[0]) % n_classes]] = total[1]
            for statistic, value in ((total, impurity), (pure, first.impurity_of(pure))):
                if not np.isfinite(value) or value < 0 or (statistic is pure and abs(value) > 1e-12):
                    rule = "impurities are finite, not below 0, and 0 for a pure node"
                    raise broken(criterion, rule, f"impurity {value} of {statistic.tolist()}. {INCOMPLETE}")


def check_division(criterion, configured, left, total):
    """Raise unless the impurity of a node is not below the weighted mean of those of its sides, whichever way it is divided."""
    impurity = configured.impurity_of(total)
    for cut in left:
        sides = [(float(side[1]), configured.impurity_of(side.copy())) for side in (cut, total - cut)]
        mean = sum(weight * of_side for weight, of_side in sides) / float(total[1])
        if mean > impurity + 1e-9 * max(1.0, abs(impurity)):
            shown = (
                f"{total.tolist()} has the impurity {impurity}; divided into {cut.tolist()} and {(total - cut).tolist()}, "
                f"the mean is {mean}, and the split scores 0. Multiplied by the weight, an impurity must be concave in the "
                f"class weights. {INCOMPLETE}"
            )
            raise broken(criterion, "dividing a node does not raise the mean impurity", shown)


def check_scan(criterion, left, total, found, scores):
    """Raise unless the best of many cuts is the first of the cuts with the highest score alone."""
    best, score = found
    if not np.isfinite(scores).all():
        raise broken(criterion, "scores are finite and not below 0", f"{scores.tolist()} in {total.tolist()}")
    expected = int(scores.argmax())
    if scores[expected] < 0:
        if best >= 0:
            rule = "of many cuts the first of the best ones is found, with the score it has alone"
            raise broken(criterion, rule, f"cut {best} of {total.tolist()} is allowed among others, and not alone")
    elif best != expected or score != scores[expected]:
        rule = "of many cuts the first of the best ones is found, with the score it has alone"
        shown = f"cut {best}, {score!r}, in {total.tolist()}; alone, cut {expected} scores {scores[expected]!r}. {TOGETHER}"
        raise broken(criterion, rule, shown)


def check_nodes(trial, fitted, complete):
    """Raise unless values and impurities of nodes are finite."""
    for t in range(fitted.forest_.n_trees):
        table = fitted.forest_.node_table(t)
        for name in ("value", "impurity", "decrease"):
            if not np.isfinite(getattr(table, name)).all():
                raise trial.broken("values and impurities of nodes are finite", f"{name}: {getattr(table, name).tolist()}")
        if complete and table.impurity.min() < 0:
            shown = f"node {table.impurity.argmin()} of tree {t}: {table.impurity.min()}"
            raise trial.broken("impurities are finite, not below 0, and 0 for a pure node", shown)


def check_single_cuts(trial):
    """Raise unless, in the nodes of a forest, the scan finds the cut that scoring each cut by itself finds."""
    rule = "of many cuts the first of the best ones is found, with the score it has alone"
    trial.parameters.update(max_depth=3, n_estimators=2)
    try:
        other = trial.fit(splitter=EveryCut())
    except _BadScore as error:
        raise trial.broken("scores are finite and not below 0", error) from error
    grown = trial.fit()
    for name in ("feature", "leaf_draws"):  # which follow from where nodes are cut
        here, there = getattr(grown.forest_, name), getattr(other.forest_, name)
        if here.shape != there.shape or (here != there).any():
            shown = f"{name} of nodes {here[:9].tolist()}...; cut by cut {there[:9].tolist()}..."
            raise trial.broken(rule, shown)
