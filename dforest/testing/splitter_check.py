"""Whether a splitter keeps the contract of ``dforest/core/search/splitter.pxd``."""

import numpy as np
from sklearn.base import clone

from dforest.core.search.splitter import Splitter
from dforest.estimators.data.fits import instance_of
from dforest.testing.conformance import (
    ROW_ALONE,
    TASKS,
    Trial,
    check_inputs,
    check_parameters,
    check_pickled,
    check_same_forests,
    make_problem,
    with_cause,
)
from dforest.testing.grown_trees import GrownTree, check_scores


def check_splitter(splitter, *, tasks=tuple(TASKS), mixed=True, own_score=False):
    """Check that a splitter keeps the rules of its contract, as far as small forests show it; raise an error if not.

    Forests are grown on generated rows, for two classes, four classes and regression. The rows hold numbers, and in a second
    round also missing values, a categorical column and weights. All values of `method` that the splitter is for are tried. The
    check takes some seconds for a compiled splitter, and up to a minute for one in Python.

    Parameters
    ----------
    splitter : Splitter, or a subclass
        The splitter; a class is called without arguments.
    tasks : sequence of {"two classes", "four classes", "regression"}
        Tasks that the splitter is tried with; by default all three.
    mixed : bool, default=True
        Whether the splitter is tried with missing values, categorical columns and weights too.
    own_score : bool, default=False
        Whether the splitter ranks splits by a score of its own instead of the criterion's. If so, `min_impurity_decrease` and
        `max_leaf_nodes`, which use scores, are not checked.

    Raises
    ------
    ConformanceError
        If a rule is broken. The message names the class and the rule, and has the numbers that show it. It is an
        AssertionError.

    Notes
    -----
    These are the rules:

    - A forest that is grown again is equal to the bit: on 1, 2 and 8 threads that share all they can, depth first or best first,
      whether codes are copied or not, whichever nodes and trees came before, and with clones, pickled copies, and objects made
      from the parameters.
    - Each training row goes down the grown tree as it did in training, alone or among others, and no side of a split is empty.
    - Limits on leaves, depth and nodes hold, and scores are the decrease of impurity.
    - Importances, out-of-bag estimates and paths exist and are finite.
    - Exceptions end the fit and leave the estimator as it was.
    - Data are not written to, and no memory around them is read.

    The check can only make it probable that memory outside of the data is left alone. To prove it for rows of your own, compile
    the module of the splitter with ``-fsanitize=address -fno-omit-frame-pointer -g``, link it with ``-fsanitize=address``, and
    run the check in a Python that has loaded the sanitizer first:
    ``LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 python ...``. All memory from ``malloc``,
    dforest's too, is then guarded wherever this module reads or writes it.

    Examples
    --------
    >>> from dforest.splitter import HistSplitter
    >>> from dforest.testing import check_splitter
    >>> check_splitter(HistSplitter)
    """
    splitter = instance_of(Splitter, "splitter", splitter)
    if not isinstance(splitter, Splitter):
        raise TypeError(f"splitter={splitter!r}; allowed are objects and subclasses of dforest.splitter.Splitter")
    check_parameters(splitter)
    for method in ("hist", "dense"):
        if splitter.method not in (None, method):
            continue
        for task in tasks:
            for is_mixed in (False, True) if mixed else (False,):
                trial = Trial("splitter", splitter, make_problem(task, is_mixed), method=method)
                with_cause(trial, lambda trial: check_forests(trial, own_score))
        trial = Trial("splitter", splitter, make_problem(tasks[0], mixed), method=method)
        check_limits(trial)
        check_estimates(trial)
        check_inputs(trial)
        check_exceptions(trial)


def check_forests(trial, own_score):
    """Raise unless the forests that are grown on a problem keep all rules."""
    fitted = check_same_forests(trial)
    check_rows(trial, fitted)
    check_importances(trial, fitted)
    check_pickled(trial, fitted)
    if not own_score:
        check_scores(trial, fitted, lambda tree, t: tree.decreases())


def leaves_of(trial, fitted, X):
    """The leaf of each row in each tree; a test that raises for some row breaks a rule."""
    try:
        return fitted.apply(X)
    except Exception as error:
        rule = "a test needs nothing but its payload, the row, and the parameters"
        raise trial.broken(rule, f"after training, it raised {error!r}") from error


def check_rows(trial, fitted):
    """Raise unless rows go down the trees as their draws did in training."""
    X, forest = trial.problem.X, fitted.forest_
    leaves = leaves_of(trial, fitted, X)
    backwards = leaves_of(trial, fitted, X[::-1].copy())[::-1]
    some = slice(0, len(X), 7)
    alone = np.vstack([leaves_of(trial, fitted, X[i : i + 1]) for i in range(len(X))[some]])
    for way, here, there in (("backwards", leaves, backwards), ("alone", leaves[some], alone)):
        if (here != there).any():
            row, t = (int(i) for i in np.argwhere(here != there)[0])
            raise trial.broken(ROW_ALONE, f"tree {t}: a row reaches leaf {here[row, t]} among others, {there[row, t]} {way}")
    for t in range(forest.n_trees):
        tree = GrownTree(fitted, trial.problem, t)
        check_paths(trial, tree, leaves[:, t], t)
        check_leaves(trial, tree, t)


def check_paths(trial, tree, leaves, t):
    """Raise unless paths end at the leaves, and draws go both ways at each inner node."""
    rule = "decision_path leads to the leaves that apply tells"
    nodes = tree.reached[:, tree.feature < 0]
    if (nodes.sum(axis=1) != 1).any() or not tree.reached[np.arange(len(leaves)), leaves].all():
        raise trial.broken(rule, f"tree {t}: paths end at {nodes.sum(axis=1).tolist()} leaves")
    for node in tree.inner:
        left, right = int(node + 1), int(tree.right_child[node])
        if min(tree.draws[left], tree.draws[right]) == 0:
            raise trial.broken(
                "a split puts draws on both sides: it is between two different values",
                f"tree {t}, node {node}, feature {tree.feature[node]}: {tree.draws[left]} draws go left, "
                f"{tree.draws[right]} right",
            )


def check_leaves(trial, tree, t):
    """Raise unless leaves hold the draws that reach them."""
    forest = tree.forest
    own = forest.splitter is not None and forest.splitter.has_own_leaves or trial.component.has_own_leaves
    for node in np.flatnonzero(tree.feature < 0):
        leaf = tree.leaf_row[node]
        held, reached = int(forest.leaf_draws[leaf]), int(tree.draws[node])
        if held != reached and not (own and 0 < held < reached):
            rule = "rows go down a grown tree as their draws went in training"
            raise trial.broken(rule, f"tree {t}, leaf {node}: {held} draws in training, {reached} by the grown tree's tests")
        weights = forest.leaf_weight[leaf].tolist()
        expected = tree.statistic(node)[2:] or [int(tree.total_weight[node])]
        if weights != expected and not (own and all(a <= b for a, b in zip(weights, expected, strict=True))):
            rule = "rows go down a grown tree as their draws went in training"
            raise trial.broken(rule, f"tree {t}, leaf {node}: weights {weights} in training, {expected} by the tests")


def check_limits(trial):
    """Raise unless limits of growth hold for the draws that go down the tree."""
    for name, value in (("min_samples_leaf", 9), ("min_weight_fraction_leaf", 0.08), ("max_depth", 2), ("min_samples_split", 40)):
        fitted = trial.fit(**{name: value})
        for t in range(fitted.forest_.n_trees):
            tree = GrownTree(fitted, trial.problem, t)
            parts = {
                "min_samples_leaf": (tree.draws[1:], tree.draws[1:] < value),
                "min_weight_fraction_leaf": (tree.total_weight[1:], tree.total_weight[1:] < value * tree.total_weight[0]),
                "max_depth": (tree.depth, tree.depth > value),
                "min_samples_split": (tree.draws[tree.inner], tree.draws[tree.inner] < value),
            }
            found, is_broken = parts[name]
            if is_broken.any():
                raise trial.broken(f"{name} holds", f"{name}={value}, and tree {t} has a node of {found[is_broken][0]}")


def check_importances(trial, fitted):
    """Raise unless impurity-based importances are shares."""
    forest, n_features = fitted.forest_, trial.problem.X.shape[1]
    rule = "used_features gives features of the data, and shares above 0 whose sum is 1"
    for t in range(forest.n_trees):
        node, feature, share = forest.tests_by_feature(t)
        if not ((feature >= 0) & (feature < n_features)).all() or not (share > 0).all():
            raise trial.broken(rule, f"tree {t}: features {np.unique(feature).tolist()}, shares from {share.min()}")
        sums = np.bincount(node, share)[np.unique(node)]
        if not np.allclose(sums, 1.0):
            raise trial.broken(rule, f"tree {t}: shares of a node have the sum {sums[~np.isclose(sums, 1.0)][0]}")
    found = fitted.feature_importances_
    if found.shape != (n_features,) or not np.isfinite(found).all() or found.min() < 0:
        raise trial.broken("importances are finite and not below 0", f"feature_importances_: {found.tolist()}")


def check_estimates(trial):
    """Raise unless out-of-bag estimates and importances by permutation exist and are finite."""
    fitted = trial.fit(oob_score=True, variable_importance="mda_raw")
    found, error = fitted.variable_importance_, fitted.oob_error_
    if found.shape != trial.problem.X.shape[1:] or not np.isfinite(found).all() or not np.isfinite(error):
        shown = f"variable_importance_: {found.tolist()}, oob_error_: {error}"
        raise trial.broken("estimates from rows left out are finite", shown)
    with_threads = trial.fit(oob_score=True, variable_importance="mda_raw", n_jobs=4)
    if with_threads.variable_importance_.tobytes() != found.tobytes() or with_threads.oob_error_ != error:
        shown = f"{found.tolist()} on one thread, {with_threads.variable_importance_.tolist()} on four"
        raise trial.broken("estimates from rows left out do not depend on the number of threads", shown)


class _Interrupted(Exception):
    pass


def check_exceptions(trial):
    """Raise unless an exception of a splitter written in Python comes through and leaves the estimator as it was."""
    component = trial.component
    if not hasattr(component, "find_split"):
        return
    asked = []

    def find_split(self, node):
        asked.append(node.depth)
        if len(asked) > 4:
            raise _Interrupted()
        return super(failing, self).find_split(node)

    failing = type(f"Failing{type(component).__name__}", (type(component),), {"find_split": find_split})
    splitter = failing(**clone(component).get_params())
    for n_jobs in (1, 4):
        asked.clear()
        fitted = trial.estimator(splitter=splitter, n_jobs=n_jobs)
        before = dict(vars(fitted))
        try:
            fitted.fit(trial.problem.X, trial.problem.y, trial.problem.weight)
        except _Interrupted:
            pass
        else:
            raise trial.broken("an exception ends the fit", f"n_jobs={n_jobs}: find_split raised, and fit did not")
        if vars(fitted) != before:
            raise trial.broken("an exception leaves the estimator as it was", f"n_jobs={n_jobs}: {sorted(vars(fitted))}")
