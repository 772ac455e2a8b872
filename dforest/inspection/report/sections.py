"""The sections of a report on trees, importances, dependence and proximity, each a function of a `Study` that returns HTML."""

import numpy as np
from sklearn.base import is_classifier

from dforest.inspection.export import export_text
from dforest.inspection.report import assessment, chart, findings, pictures, proximity, tree
from dforest.inspection.report.markup import (
    absent,
    count,
    details,
    element,
    figure,
    joined,
    number,
    paragraph,
    percent,
    precise,
    preformatted,
    scrolling,
    table,
)
from dforest.inspection.report.rows import sentence_on_sample
from dforest.inspection.report.text import shortened

BARS = 15
NAMED_LEVELS = 40  # most levels of an ordinal feature that are named at an axis
NO_CURVE = {  # by whether it is a forest, and whether trees leave out rows
    (True, True): "No errors out of bag are known. Fit the forest with oob_score=True to see whether more trees would help.",
    (True, False): (
        "No errors out of bag are known. Fit the forest with bootstrap=True, without which trees leave out no rows, and with "
        "oob_score=True, or pass rows held out as X and y, to see whether more trees would help."
    ),
    (False, False): (
        "No scores by iteration are known. Pass rows held out as X and y, or fit the model with early_stopping=True, to see "
        "whether more iterations would help."
    ),
}
NO_CURVE[False, True] = NO_CURVE[False, False]
NO_ROWS = "This section needs rows: pass them as X and y to report."


def number_of_trees(study):
    curve = study.curve
    if curve is None:
        return absent(study.target.no_curve or NO_CURVE[study.is_forest, study.bootstraps])
    if not np.isfinite(curve.values[-1]):
        if curve.where != "out of bag":
            return absent(f"The {curve.name} {curve.where} is not defined.")
        return absent("No tree left out any row, so no error out of bag is known. More trees leave out more rows.")
    trend = curve.trend
    verdict, paragraphs = findings.of_trees(curve, trend) if study.is_forest else findings.of_iterations(curve)
    if study.measure.is_chosen and curve.name != study.measure.name:
        paragraphs.append(f"Pass the training rows in their order, or rows held out, to see the {study.measure.name} here.")
    last = int(curve.n_trees[-1])
    label = f"The {curve.name} {curve.where} by the number of {curve.unit}s, to {last}. {verdict}."
    svg = pictures.curve(label, curve, trend)
    caption = f"The {curve.name} {curve.where}, by the first {curve.unit}s."
    if curve.n_scored is not None:
        caption += (
            f" It is that of {sentence_on_sample(curve.n_scored, len(study.rows))}, so that it ends at "
            f"{number(curve.values[-1])} and not at the {number(study.measure.shown(study.score))} of all rows."
        )
    if trend is not None:
        caption += " The dashed line is the trend, limit + slope / trees, fitted to the last three quarters of the curve."
    numbers = [max(1, round(last * share)) for share in (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)]
    best = curve.best[0] if curve.unit == "iteration" else None
    if best is not None:
        caption += " The dotted line marks the best iteration."
        numbers = sorted([*numbers, best])
    places = dict(map(curve.at, numbers))
    known = curve.values[np.isfinite(curve.values)]
    step = np.ptp(known) if trend is None else trend.chance(last)
    lines = [[f"{n:,}{', best' * (n == best)}", precise(value, step)] for n, value in places.items()]
    if trend is not None:
        lines.append([f"{2 * last:,}, expected", precise(curve.sign * trend.at(2 * last), step)])
    heads = [f"{curve.unit.capitalize()}s", curve.name[0].upper() + curve.name[1:]]
    steps = table(heads, lines, f"The {curve.name} by the number of {curve.unit}s", {1})
    said = element("div", element("p", f"{verdict}.", class_="verdict"), *map(paragraph, paragraphs), steps)
    return element("div", said, figure(svg, caption), class_="beside")


def importances(study):
    mean, std = study.own_importance
    shown, model = study.order[:BARS], study.model

    def bars(title, mean, error, axis):
        label = f"Importances by {title}: " + ", ".join(f"{study.names[j]} {number(mean[j])}" for j in shown[:5])
        return pictures.importances(label, mean, error, study.names, shown, axis)

    left = figure(bars(model.importance, mean, std, model.axis), model.of_importance)
    parts, found = [], study.permutation
    if found is None:
        cure = "rows, as X and y" if study.rows is None else "the targets of the rows, as y"
        right = absent(f"Importances by permutation are not known: pass {cure}, to report.")
    elif not np.isfinite(found.mean[shown]).all():
        right = absent("Importances by permutation are not known: no score can be computed for these rows.")
    else:
        way = "Rise" if study.measure.is_error else "Fall"
        axis = f"{way} of the {study.measure.name} when permuted"
        right = figure(bars("permutation", found.mean, found.error, axis), permutation_caption(study, found))
        n_labels = [None if labels is None else len(labels) for labels in study.estimator.categories_]
        said, is_warning = findings.of_importances(mean, found, study.names, n_labels, model.importance)
        parts += [paragraph(said, class_="note" if is_warning else None)] if said else []
        harm = findings.of_harm(found, study.names, n_labels, study.model.orders_labels)
        parts += [paragraph(harm, class_="note")] if harm else []
    if len(shown) < len(study.names):
        parts.append(paragraph(f"The first {len(shown)} of {len(study.names):,} features are drawn."))
    return joined([*parts, element("div", left, right, class_="pictures")])


def permutation_caption(study, found):
    trees, change = " out of bag" if found.is_out_of_bag else "", "rises" if study.measure.is_error else "falls"
    said = (
        f"By permutation: by how much the {study.measure.name}{trees} {change} if a feature is permuted, on average over "
        f"{assessment.REPEATS} permutations of {sentence_on_sample(found.n_rows, len(study.rows))}"
    )
    if np.isnan(found.mean).any():
        said += f", for the {found.n_asked} most important features by {study.model.importance}"
    if found.n_more:
        said += (
            f". So that the rare class counts for something, {found.n_more:,} more of its rows were taken than such a draw would "
            "have; they have smaller weights, so that the result is about all rows"
        )
    said += ". A line is the mean with one standard error to both sides."
    if study.rows.is_training and not found.is_out_of_bag:
        said += f" The {study.model.noun} was grown on these rows: this says what it relies on, not what helps with new rows."
    return said


def partial_dependence(study):
    if study.rows is None:
        return absent(NO_ROWS)
    if len(study.classes) == 1:
        return absent("There is one class, whose probability is always 1.")
    if not study.dependences:
        return absent("No feature has a value in the rows of X.")
    found = study.dependences
    ends = np.concatenate([part.ravel() for each in found for part in (each.mean, each.low, each.high) if part is not None])
    low, high = ends.min(), ends.max()
    room = 0.05 * (high - low) or 0.05 * abs(low) or 0.05
    drawn = [dependence_figure(study, each, (low - room, high + room)) for each in found]
    shown = found[0].shown
    what = "prediction"
    if shown:
        what = f"probability of {shortened(study.classes[shown[0]], 30) if len(shown) == 1 else 'a class'}"
    rows = sentence_on_sample(min(len(study.rows), assessment.DEPENDENCE_ROWS), len(study.rows))
    said = (
        f"The mean {what} if a feature had one value in all rows, and all others were as they are, by that value. From {rows}; "
        "rows without a value of the feature don't count. Numbers range from their 5% to their 95% quantile, where these differ. "
        "All pictures have one scale of predictions."
    )
    if found[0].low is not None:
        said += " The paler band, or line, holds the predictions for 80% of the rows."
    elif len(shown) < len(study.classes):
        said += f" Of {len(study.classes):,} classes, the {len(shown)} that are predicted most often are drawn."
    parts = [paragraph(said)]
    if len(shown) > 1:
        parts.append(chart.keys([(study.classes[k], name, "line") for k, name in zip(shown, chart.SERIES, strict=False)]))
    return joined([*parts, element("div", *drawn, class_="pictures small")])


def dependence_figure(study, found, limits):
    name, levels = study.names[found.feature], levels_of(study, found)
    label = f"How predictions depend on {name}: means from {number(found.mean.min())} to {number(found.mean.max())}"
    if levels is None:
        return figure(pictures.dependence(label, found, name, limits))
    return figure(pictures.dependence_on_labels(label, found, name, limits, levels))


def levels_of(study, found):
    """The names of the labels that a grid stands for; None if it is of numbers, or of more levels than can be named."""
    labels = study.estimator.categories_[found.feature]
    if labels is None or len(found.grid) > NAMED_LEVELS:
        return None
    return [str(labels[int(code)]) for code in found.grid]


def proximity_map(study):
    if study.rows is None:
        return absent(NO_ROWS)
    if len(study.rows) < 3:
        return absent("A map needs at least three rows.")
    chosen, points, shares = study.map
    noun = study.target.noun if study.has_targets or not study.target.colours_targets else "prediction"
    if study.has_targets and study.target.colours_targets:
        by = study.rows.y[chosen]
    else:
        by = study.target.value(study.model.predict(study.rows.X[chosen]))
    label = f"Map of {count(len(chosen), 'row')}: rows that often share a leaf lie near each other; coloured by {noun}"
    said = [
        "Rows that share a leaf in many trees are near each other, and rows that share none are far apart: the map shows which "
        f"rows are alike to the forest. {study.target.of_map}",
        f"From {sentence_on_sample(len(chosen), len(study.rows))}, by classical scaling of 1 less the share of trees in which "
        f"two rows share a leaf. A leaf with less than {percent(1 / proximity.REGIONS, 0)} of its tree's draws counts as the "
        f"lowest node above it that has as many. The two coordinates stand for {percent(shares[0], 0)} and "
        f"{percent(shares[1], 0)} of the variance. The colour is the {noun}.",
    ]
    if study.rows.is_training and study.target.of_training:
        said.append(study.target.of_training)
    picture = figure(study.target.map(study, label, points, by))
    return element("div", element("div", *map(paragraph, said)), picture, class_="beside")


def trees(study):
    sizes = study.sizes
    deepest, leaves = (np.quantile(part, [0, 0.5, 1], method="nearest").tolist() for part in (sizes.depth, sizes.n_leaves))
    draws = [sizes.draws[k] for k in (0, 2, 4)]
    draws_or_rows = "draws" if study.bootstraps else "rows"
    amounts = {"Depth of a tree": deepest, "Leaves of a tree": leaves, f"{draws_or_rows.capitalize()} in a leaf": draws}
    lines = [[name, *(f"{amount:,}" for amount in known)] for name, known in amounts.items()]
    deepest_label = f"Share of leaves at each depth, from 0 to {len(sizes.leaves_by_depth) - 1}"
    sizes_label = f"Share of leaves by how many {draws_or_rows} they have, from {draws[0]:,} to {draws[2]:,}"
    unit = "draws of the bootstrap: a row that a tree drew twice counts twice" if study.bootstraps else "rows"
    both = [
        figure(
            pictures.depths(deepest_label, sizes.leaves_by_depth),
            f"Depths of all {sizes.n_leaves.sum():,} leaves; a root has depth 0.",
        ),
        figure(
            pictures.leaf_sizes(sizes_label, sizes.leaves_by_draws, draws_or_rows),
            f"Sizes of all leaves, in {unit}. The bars stand for 1, 2 to 3, 4 to 7, ... of them.",
        ),
    ]
    heads = ["", "Least", "Median", "Most"]
    overview = table(heads, lines, "How large the trees are", {1, 2, 3})
    return joined([overview, element("div", *both, class_="pictures"), one_tree(study)])


def one_tree(study):
    """The upper levels of a typical tree, as a picture and as text."""
    sizes, t = study.sizes, study.sizes.typical_tree
    said = f"Of {study.forest.n_trees:,} trees, this one's number of leaves is nearest to the median: {sizes.n_leaves[t]:,}."
    trees = study.estimator.estimators_
    places = (t,) if study.is_forest else divmod(t, study.estimator.n_trees_per_iteration_)
    single, place = trees[places if len(places) > 1 else t], f"estimators_[{', '.join(map(str, places))}]"
    head = element("h3", f"One of the trees, {place}")
    if sizes.depth[t] == 0:
        return joined([head, paragraph("It is a single leaf.")])
    if sizes.depth[t] >= tree.LEVELS:
        said += f" Its first {tree.LEVELS} levels of tests are drawn; (...) stands for what lies below."
    said += " Rows for which a test holds go left. "
    said += study.target.of_boxes if study.is_forest else "A box has what it would add to the raw predictions."
    label = f"The upper levels of the tree {place}"
    unit = "draw" if study.bootstraps else "row"
    svg = tree.picture(single, study.names, label, unit, study.model.node_value)
    names = [shortened(name, tree.LABEL) for name in study.classes] if is_classifier(single) else None
    text = export_text(single, feature_names=study.names, class_names=names, max_depth=tree.LEVELS - 1)
    rules = details("The rules as text", scrolling(preformatted(text, class_="rules"), "The rules as text"))
    return joined([head, paragraph(said), scrolling(figure(svg, class_="wide"), label), rules])
