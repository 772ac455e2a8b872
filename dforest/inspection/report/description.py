"""What a report says of a forest in words and tables: its head, data and parameters, and origin. HTML from a `Study`."""

import platform
from importlib.metadata import version
from numbers import Integral

import numpy as np

from dforest.core.sparse_rows import column_of
from dforest.inspection.report.markup import count, details, element, joined, listed, number, paragraph, percent, table
from dforest.inspection.report.text import shortened

LISTED_FEATURES = 100
OPEN_FEATURES = 12  # a longer list is shown when asked for
LONGEST_VALUE = 160  # characters of a parameter's value


def lead(study):
    """The first sentences of the page."""
    model = study.model
    kinds = [count(model.n_steps, model.unit), count(model.n_rows, "row"), count(len(study.names), "feature")]
    what = "" if study.target_name is None else f" It predicts {shortened(study.target_name, 60)}."
    said = f"{type(study.estimator).__name__} of {kinds[0]}, grown on {listed(kinds[1:])}.{what}"
    if study.rows is not None:
        what = "these rows" if study.rows.is_training else count(len(study.rows), "other row" if study.is_forest else "row")
        said += f" Its predictions are shown for {what}."
    return said


def tiles(study):
    """The main figures, the measure first: a list of (name, value)."""
    found = []
    if study.has_targets and study.quality is not None:
        found.append((f"{study.measure.title} {study.where}", study.measure.text(study.score)))
        found.append(("The same of a constant prediction", study.measure.text(study.constant_score)))
        if study.rare is not None:
            name, of_rare, predicted = shortened(study.classes[study.rare], 20), *study.quality.of_class(study.rare)
            found.append((f"Rows of {name} that are recognised", percent(predicted[of_rare].mean())))
            right = percent(of_rare[predicted].mean()) if predicted.any() else "none predicted"
            found.append((f"Rows predicted as {name} that are right", right))
    unit = study.model.unit.capitalize()
    found += [(f"{unit}s", f"{study.model.n_steps:,}"), ("Rows grown on", f"{study.model.n_rows:,}")]
    found.append(("Features", f"{len(study.names):,}"))
    return found + study.target.tiles(study)


def data(study):
    """The section on data and parameters."""
    shown = study.order[:LISTED_FEATURES]
    head, numeric, lines = features_table(study, shown)
    listing = table(head, lines, "Features, in this order", numeric, class_="features")
    said = "They are in the order of the columns."
    if study.own_importance[0].any():
        said = f"The most important one comes first, by {study.model.importance if study.permutation is None else 'permutation'}."
    if len(study.names) > len(shown):
        said += f" The first {len(shown):,} of {len(study.names):,} are listed."
    parts = [
        table(None, facts(study), f"The data that the {study.model.noun} was grown on", class_="values"),
        element("h3", "Parameters"),
        parameters(study),
        element("h3", "Features"),
        paragraph(said),
        listing if len(shown) <= OPEN_FEATURES else details(f"The list of {len(shown)} features", listing),
    ]
    return joined(parts)


def facts(study):
    """What is known of the data: rows of a table."""
    forest = study.forest
    weighed = " of positive weight" if study.is_forest and study.estimator._batches[-1].kept is not None else ""
    found = [("Estimator", type(study.estimator).__name__), ("Rows grown on", f"{study.model.n_rows:,}{weighed}")]
    if study.is_forest:
        n_draws = forest.plans[-1].drawn().count_draws(int(forest.n_rows[-1]), int(forest.seeds[-1]))
        found.append(("Draws per tree", f"{n_draws:,}, {forest.plans[-1].description}"))
    else:
        found.append(("Trees", f"{forest.n_trees:,}, {study.estimator.n_trees_per_iteration_:,} in each iteration"))
    if study.output is not None:
        number, n_outputs = study.output
        found.append(("Output", f"{number}, of {n_outputs} from 0 on; the trees, and importances by them, are those of all"))
    found.append(("Features", kinds_of(study)))
    found += study.target.facts(study)
    if study.rows is not None:
        targets = "with targets" if study.has_targets else "without targets"
        what = "; the rows that it was grown on" if study.rows.is_training else "; not the rows that it was grown on"
        found.append(("Rows of X", f"{len(study.rows):,}, {targets}{what if study.is_forest else ''}"))
    return found


def kinds_of(study):
    n, n_categorical, n_ordinal = len(study.names), int(study.model.is_categorical.sum()), int(study.model.is_ordinal.sum())
    kinds = [f"{times:,} {kind}" for kind, times in (("categorical", n_categorical), ("ordinal", n_ordinal)) if times]
    others = n - n_categorical - n_ordinal
    return f"{n:,}: {listed([f'{others:,} of numbers'] * bool(others) + kinds)}" if kinds else f"{n:,} of numbers"


def parameters(study):
    """Those that were set, and the others when asked for."""

    def listing(entries, caption):
        lines = [[element("code", name), element("code", shortened(text, LONGEST_VALUE))] for name, text, *_ in entries]
        return table(["Parameter", "Value"], lines, caption, class_="values")

    changed = [entry for entry in study.parameters if entry[3]]
    rest = [entry for entry in study.parameters if not entry[3]]
    first = listing(changed, "Parameters that were set") if changed else paragraph("All parameters have their defaults.")
    others = listing(rest, "Parameters with their defaults")
    return joined([first, details(f"{len(rest)} parameters with their defaults", others)])


def features_table(study, shown):
    """(head, columns of numbers, rows) of the table of some features."""
    estimator, rows = study.estimator, study.rows
    lines = []
    for j in shown:
        labels = estimator.categories_[j]
        kind = "categorical" if study.model.is_categorical[j] else "ordinal" if study.model.is_ordinal[j] else "number"
        line = [study.names[j], kind if labels is None else f"{kind}, {count(len(labels), 'label')}"]
        if rows is not None:
            column = column_of(rows.X, j)
            known = column[~np.isnan(column)]
            line.append(percent(1 - len(known) / len(column)))
            if not len(known):
                line.append("no value")
            elif labels is None:
                line.append(f"{number(known.min())} to {number(known.max())}")
            else:
                line.append(f"{len(np.unique(known)):,} of the labels")
        lines.append(line)
    if rows is None:
        return ["Feature", "Kind"], (), lines
    return ["Feature", "Kind", "Missing in X", "Values in X"], {2}, lines


def provenance(study):
    """The section on where the forest comes from."""
    if not isinstance(study.estimator.random_state, Integral):
        said = "random_state is not a number, so another fit may grow other trees; the seed is the one that came of it."
    else:
        said = "A fit to the same data, with the same parameters and version, grows the trees of this digest, on any machine."
    lines = [
        ["Seed, forest_.seed", f"{study.forest.seed}"],
        ["Digest of the trees (SHA-256)", element("code", study.digest)],
        ["dforest", version("dforest")],
        ["scikit-learn", version("scikit-learn")],
        ["NumPy", version("numpy")],
        ["Python", platform.python_version()],
    ]
    return joined([paragraph(said), table(None, lines, "Where the forest comes from", class_="values")])
