"""Compares five ensembles of trees: their test scores and costs on data sets that come with scikit-learn.

    python examples/ensembles.py
    python examples/ensembles.py --trees 20 --seeds 3

Prints a Markdown table with a row for each ensemble, and one for a single tree. A seed decides which third of the rows is the
test set, and is the random_state of the ensembles. Scores are means over the seeds ± their standard errors. Times are the CPU
time of one thread. Times and sizes of pickles are medians over the seeds, added up over the problems. No parameters have been
tuned.
"""

import argparse
import pickle
import statistics
from time import process_time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from sklearn.model_selection import train_test_split

import dforest

FRIEDMAN_ROWS = 3000
WRONG = 0.2  # of the training rows of "digits, wrong labels"

# For each problem: the function that loads it, or None if the data are generated, and whether it is regression.
PROBLEMS = {
    "breast cancer": (load_breast_cancer, False),
    "wine": (load_wine, False),
    "digits": (load_digits, False),
    "digits, wrong labels": (load_digits, False),
    "diabetes": (load_diabetes, True),
    "friedman": (None, True),
}


def ensembles(is_regression, trees, seed):
    """The unfitted estimators that are compared, by title; the single tree comes first."""
    kind = "Regressor" if is_regression else "Classifier"
    tree = getattr(dforest, f"DecisionTree{kind}")
    bagging, ada_boost = (BaggingRegressor, AdaBoostRegressor) if is_regression else (BaggingClassifier, AdaBoostClassifier)
    ours = {"n_estimators": trees, "random_state": seed, "n_jobs": 1}
    return {
        "one tree": tree(random_state=seed),
        "bagging": bagging(tree(), **ours),
        "random forest": getattr(dforest, f"RandomForest{kind}")(**ours),
        "extra trees": getattr(dforest, f"ExtraTrees{kind}")(**ours),
        "boosted trees": getattr(dforest, f"HistGradientBoosting{kind}")(
            max_iter=trees, defaults="scikit-learn", random_state=seed, n_jobs=1
        ),
        "AdaBoost": ada_boost(tree(max_depth=3), n_estimators=trees, random_state=seed),
    }


def rows_of(problem, seed):
    """The training and test rows of a problem: X_train, X_test, y_train, y_test."""
    load, is_regression = PROBLEMS[problem]
    X, y = load(return_X_y=True) if load else make_friedman1(FRIEDMAN_ROWS, noise=1.0, random_state=seed)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=None if is_regression else y, random_state=seed
    )
    if "wrong" in problem:
        rng = np.random.default_rng(seed)
        wrong = rng.random(len(y_train)) < WRONG
        y_train[wrong] = rng.choice(np.unique(y), wrong.sum())
    return X_train, X_test, y_train, y_test


def seconds(work):
    """The CPU time of a call, in seconds."""
    begin = process_time()
    work()
    return process_time() - begin


def measure(problem, title, trees, seed):
    """The score, the CPU seconds of fit and prediction, and the size of the pickle in bytes, of one ensemble."""
    X_train, X_test, y_train, y_test = rows_of(problem, seed)
    model = ensembles(PROBLEMS[problem][1], trees, seed)[title]
    fit = seconds(lambda: model.fit(X_train, y_train))
    model.predict(X_test)  # so that everything that is prepared by the first prediction is ready
    predict = seconds(lambda: model.predict(X_test))
    return model.score(X_test, y_test), fit, predict, len(pickle.dumps(model))


def table(trees, seeds):
    """The lines of the table."""
    yield "| | " + " | ".join(PROBLEMS) + " | fit, ms | predict, ms | pickle, KiB |"
    yield "|---|" + "---:|" * (len(PROBLEMS) + 3)
    titles = list(ensembles(False, 1, 0))
    # Ensembles take turns, so that a machine that slows down on the way slows down all of them.
    found = {
        (problem, title, seed): measure(problem, title, trees, seed)
        for problem in PROBLEMS for seed in range(seeds) for title in titles
    }  # fmt: skip
    for title in titles:
        cells, costs = [], np.zeros(3)
        for problem in PROBLEMS:
            scores, *numbers = zip(*(found[problem, title, seed] for seed in range(seeds)), strict=True)
            error = statistics.stdev(scores) / seeds**0.5 if seeds > 1 else float("nan")
            cells.append(f"{statistics.mean(scores):.3f} ± {error:.3f}")
            costs += [statistics.median(of_seeds) for of_seeds in numbers]
        fit, predict, size = costs * [1e3, 1e3, 1 / 1024]
        yield f"| {title} | " + " | ".join([*cells, f"{fit:.3g}", f"{predict:.3g}", f"{size:.3g}"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100, help="number of trees or boosting iterations (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds (default: %(default)s)")
    args = parser.parse_args()
    if args.trees < 1 or args.seeds < 1:
        parser.error("--trees and --seeds are numbers from 1")
    for line in table(args.trees, args.seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
