"""Train dforest's forests on real data, with both methods, and compare them with scikit-learn's.

Without arguments, this uses three data sets that come with scikit-learn. You can also use a table
of your own, which may have columns of numbers and text, and empty cells:

    python examples/quickstart.py --csv houses.csv --target price --plot importances.png
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import ensemble
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

from dforest import RandomForestClassifier, RandomForestRegressor

FEWEST_ROWS = 8
MAX_CLASSES = 20  # a target of whole numbers is a class if it has at most this many values
MAX_LABELS = 256  # a text column with more labels is split in alphabetical order
MAX_BARS = 12  # features shown in a panel of the plot


class Problem(NamedTuple):
    name: str
    task: str  # "classification" or "regression"
    X: pd.DataFrame
    y: np.ndarray


class Result(NamedTuple):
    method: str
    score: float
    fit_seconds: float
    predict_seconds: float
    importances: pd.Series  # by column


def bundled_problems():
    problems = []
    for name, task, load in [
        ("digits", "classification", load_digits),
        ("breast cancer", "classification", load_breast_cancer),
        ("diabetes", "regression", load_diabetes),
    ]:
        X, y = load(return_X_y=True, as_frame=True)
        problems.append(Problem(name, task, X, y.to_numpy()))
    return problems


def read_problem(path, target, task):
    """Read a problem from a CSV file with a header line. If `task` is None, it is guessed from the target."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        table = pd.read_csv(path, low_memory=False)
    except ValueError as error:  # not text, no columns, or ragged lines
        raise ValueError(f"{path} is not a CSV file that can be read: {str(error).strip()}") from None
    if target not in table.columns:
        raise ValueError(f"{path} has no column {target!r}; its columns are {', '.join(map(repr, table.columns))}")

    empty = table[target].isna()
    if empty.any():
        print(f"{path.name}: left out {empty.sum()} of {len(table)} rows, whose cell in {target!r} is empty\n")
        table = table[~empty].reset_index(drop=True)
    if len(table) < FEWEST_ROWS:
        raise ValueError(f"{path} has {len(table)} rows with a target; at least {FEWEST_ROWS} are needed")
    X, y = table.drop(columns=target), table[target].infer_objects()
    if X.shape[1] == 0:
        raise ValueError(f"{path} has no column besides {target!r}")

    is_number = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)
    is_class = not is_number or (y.nunique() <= MAX_CLASSES and (y % 1 == 0).all())
    task = task or ("classification" if is_class else "regression")
    if task == "regression" and not is_number:
        raise ValueError(f"regression needs a target of numbers; {target!r} holds, for example, {str(y[0])!r}")
    return Problem(path.stem, task, X, y.to_numpy(float) if task == "regression" else y.astype(str).to_numpy(object))


def text_columns(X):
    return [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def encoder_of(X):
    """Encodes text columns as numbers, in alphabetical order; empty or unseen text becomes NaN, which means missing."""
    ordinal = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    encoder = ColumnTransformer([("text", ordinal, text_columns(X))], remainder="passthrough", verbose_feature_names_out=False)
    return encoder.set_output(transform="pandas")


def forests_for(task, labels, trees, jobs, seed):
    """Pairs (method, forest): dforest's with both methods, and scikit-learn's, which treats labels as numbers."""
    same = {"n_estimators": trees, "n_jobs": jobs, "random_state": seed}
    native = {"categorical_features": labels, **same}
    if task == "classification":
        ours, theirs = RandomForestClassifier, ensemble.RandomForestClassifier
    else:
        ours, theirs = RandomForestRegressor, ensemble.RandomForestRegressor
    return [("hist", ours(method="hist", **native)), ("dense", ours(method="dense", **native)),
            ("scikit-learn", theirs(**same))]


def run(problem, trees, jobs, seed):
    """Yields a result for each forest, which is trained on three quarters of the rows and scored on the others."""
    X_train, X_test, y_train, y_test = train_test_split(problem.X, problem.y, random_state=seed)
    labels = [name for name in text_columns(X_train) if X_train[name].nunique() <= MAX_LABELS]
    encoder = encoder_of(X_train)
    X_train, X_test = encoder.fit_transform(X_train), encoder.transform(X_test)
    for method, forest in forests_for(problem.task, labels, trees, jobs, seed):
        start = perf_counter()
        forest.fit(X_train, y_train)
        fitted = perf_counter()
        forest.predict(X_test)
        predicted = perf_counter()
        importances = pd.Series(forest.feature_importances_, index=X_train.columns)
        yield Result(method, forest.score(X_test, y_test), fitted - start, predicted - fitted, importances)


def plot_importances(results, path):
    """One panel per data set: the most important features, a bar for each forest."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(results), figsize=(5.5 * len(results), 6), squeeze=False, layout="constrained")
    for panel, (problem, of_methods) in zip(panels[0], results, strict=True):
        table = pd.DataFrame({result.method: result.importances for result in of_methods})
        top = table.sort_values("hist", ascending=False)[:MAX_BARS]
        top.index = [name if len(name) <= 28 else name[:27] + "…" for name in top.index]
        top[::-1].iloc[:, ::-1].plot.barh(ax=panel, width=0.75, color=["0.75", "tab:orange", "tab:blue"], legend=False)
        shown = f"the {len(top)} most important of {len(table)} columns" if len(top) < len(table) else "all columns"
        panel.set_title(f"{problem.name}: {shown}")
        panel.set_xlabel("importance (sum over all columns: 1)")
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=3, frameon=False)
    figure.get_layout_engine().set(w_pad=0.15)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def picture_suffixes():
    from matplotlib.backend_bases import FigureCanvasBase

    return [f".{kind}" for kind in sorted(FigureCanvasBase.get_supported_filetypes())]


def parse_arguments():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=summary, epilog=details, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a table with a header line, to train on instead")
    parser.add_argument("--target", metavar="COLUMN", help="the column of the table to predict")
    parser.add_argument(
        "--task", choices=["classification", "regression"],
        help=f"default: classification if the target is text, true/false\nor up to {MAX_CLASSES} whole numbers",
    )
    parser.add_argument("--trees", type=int, default=100, metavar="N", help="number of trees in a forest (default: 100)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (default: -1, all cores)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the forests and of the choice of test rows")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE",
        help="draw the importances of the columns to a file; its suffix sets the format: .png, .pdf, .svg",
    )
    args = parser.parse_args()
    if (args.csv is None) != (args.target is None):
        parser.error("--csv and --target go together")
    if args.task and not args.csv:
        parser.error("--task needs --csv")
    if args.trees < 1 or args.jobs == 0 or args.seed < 0:
        parser.error("allowed are --trees from 1, --jobs other than 0 and --seed from 0")
    if args.plot and not args.plot.absolute().parent.is_dir():
        parser.error(f"--plot: there is no folder {args.plot.parent}")
    if args.plot and args.plot.suffix.lower() not in (kinds := picture_suffixes()):
        parser.error(f"--plot: {args.plot.name} has no suffix that is known: {', '.join(kinds)}")
    return args


def main():
    args = parse_arguments()
    problems = [read_problem(args.csv, args.target, args.task)] if args.csv else bundled_problems()

    width = max(len(problem.name) for problem in problems)
    print(f"{'data':{width}}  rows x columns  method        trees   score {'fit':>17} {'predict':>10}")
    results = []
    for problem in problems:
        size = f"{len(problem.X)} x {problem.X.shape[1]}"
        measure = "accuracy" if problem.task == "classification" else "R2"
        of_methods = []
        for result in run(problem, args.trees, args.jobs, args.seed):
            score = f"{result.score:6.3f} {measure:8}"
            times = f"{result.fit_seconds:7.3f} s  {result.predict_seconds:7.3f} s"
            print(f"{problem.name:{width}}  {size:>14}  {result.method:12}  {args.trees:5}  {score}{times}", flush=True)
            of_methods.append(result)
        results.append((problem, of_methods))

    if args.plot:
        plot_importances(results, args.plot)
        print(f"\nimportances: {args.plot}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"quickstart: {error}")
