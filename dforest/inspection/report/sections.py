"""The sections of a report on trees, importances, dependence and proximity, each a function of a `Study` that returns HTML."""

from functools import partial

import numpy as np

from dforest.inspection.export import export_text
from dforest.inspection.report import assessment, findings, pictures, proximity, tree
from dforest.inspection.report.markup import (
    Markup,
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
from dforest.inspection.report.pictures import PANEL, SMALL_PANEL
from dforest.inspection.report.rows import SEED
from dforest.inspection.report.svg import SERIES, drawing, shortened

BARS = 15
NAMED_LEVELS = 40  # most levels of an ordinal feature that are named at an axis
NO_ROWS = "This section needs rows: pass them as X and y to report."


def sentence_on_sample(n_used, n_all):
    """From which rows something was found."""
    if n_used == n_all:
        return f"all {n_all:,} rows of X" if n_all > 1 else "the one row of X"
    return f"{n_used:,} of the {n_all:,} rows of X, drawn at random (seed {SEED})"


def number_of_trees(study):
    curve, trend = study.curve, study.trend
    if curve is None:
        cure = "oob_score=True"
        if not study.bootstraps:
            cure = "bootstrap=True, without which trees leave out no rows, and with oob_score=True"
        return absent(f"No errors out of bag are known. Fit the forest with {cure} to see whether more trees would help.")
    known = curve[np.isfinite(curve)]
    if not len(known):
        return absent("No tree left out any row, so no error out of bag is known. More trees leave out more rows.")
    verdict, paragraphs = findings.of_trees(curve, trend, study.target.error_name, study.known_to)
    label = f"The error out of bag by the number of trees, from 1 to {len(curve)}. {verdict}."
    svg = drawing(lambda sheet: pictures.out_of_bag_curve(sheet, curve, study.target.error_name), *PANEL, label, "curve-")
    caption = f"The {study.target.error_name} of the rows, each predicted by the trees that left it out."
    if trend is not None:
        caption += " The dashed line is the law limit + slope / trees, fitted to the last three quarters of the curve."
    places = sorted({max(1, round(len(curve) * share)) for share in (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)})
    step = np.ptp(known) if trend is None else trend.chance(len(curve))
    lines = [[f"{n:,}", precise(curve[n - 1], step)] for n in places]
    if trend is not None:
        lines.append([f"{2 * len(curve):,}, expected", precise(trend.at(2 * len(curve)), step)])
    steps = table(["Trees", f"Out-of-bag {study.target.error_name}"], lines, "The error out of bag by the number of trees", {1})
    said = element("div", element("p", f"{verdict}.", class_="verdict"), *map(paragraph, paragraphs), steps)
    return element("div", said, figure(svg, caption), class_="beside")


def importances(study):
    mean, std = study.impurity
    shown, height = study.order[:BARS], 90 + 22 * max(3, min(BARS, len(study.names)))

    def bars(title, mean, std, kind, prefix):
        label = f"Importances by {title}: " + ", ".join(f"{study.names[j]} {number(mean[j])}" for j in shown[:5])
        paint = partial(pictures.importances, mean=mean, std=std, names=study.names, kind=kind, features=shown)
        return drawing(paint, PANEL[0], height, label, prefix)

    left = figure(
        bars("impurity", mean, std, "impurity", "impurity-"),
        "By impurity: the share of a feature in all decreases of impurity, with the standard deviation over trees. It is found "
        "on the rows that the forest was grown on, and favours features of many values.",
    )
    parts, found = [], study.permutation
    if found is None:
        cure = "rows, as X and y" if study.rows is None else "the targets of the rows, as y"
        right = absent(f"Importances by permutation are not known: pass {cure}, to report.")
    else:
        kind = "oob" if found.is_out_of_bag else "permutation"
        right = figure(bars("permutation", found.mean, found.std, kind, "permutation-"), permutation_caption(study, found))
        said = findings.of_importances(mean, found.mean, study.names)
        parts += [paragraph(said)] if said else []
    if len(shown) < len(study.names):
        parts.append(paragraph(f"The first {len(shown)} of {len(study.names):,} features are drawn."))
    return joined([*parts, element("div", left, right, class_="pictures")])


def permutation_caption(study, found):
    error = study.target.permuted_error
    if found.is_out_of_bag:
        return (
            f"By permutation: by how much {error} of a tree rises on the rows that it left out if the feature is permuted among "
            "them, with the standard deviation over trees."
        )
    said = (
        f"By permutation: by how much {error} of the forest rises if the feature is permuted, with the standard deviation over "
        f"{assessment.REPEATS} permutations of {sentence_on_sample(found.n_rows, len(study.rows))}."
    )
    if study.rows.is_training:
        said += " The forest was grown on these rows: this says what it relies on, not what helps with new rows."
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
        keys = [element("li", study.classes[k], style=f"--key:var(--{name})") for k, name in zip(shown, SERIES, strict=False)]
        parts.append(element("ul", *keys, class_="keys", aria_label="Colours of the classes"))
    return joined([*parts, element("div", *drawn, class_="pictures small")])


def dependence_figure(study, found, limits):
    name, levels = study.names[found.feature], levels_of(study, found)
    paint = {"found": found, "name": name, "limits": limits}
    if levels is None:
        paint = partial(pictures.dependence, **paint)
    else:
        paint = partial(pictures.dependence_on_labels, levels=levels, **paint)
    label = f"How predictions depend on {name}: means from {number(found.mean.min())} to {number(found.mean.max())}"
    return element("figure", Markup(drawing(paint, *SMALL_PANEL, label, f"dependence-{found.feature}-")))


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
    if study.has_targets:
        noun, by = study.target.noun, study.rows.y[chosen]
    else:
        noun, by = "prediction", study.target.value(study.rows.predict(study.rows.X[chosen]))
    label = f"Map of {count(len(chosen), 'row')}: rows that often share a leaf lie near each other; coloured by {noun}"
    said = [
        "Rows that share a leaf in many trees are near each other, and rows that share none are far apart: the map shows which "
        f"rows are alike to the forest. {study.target.of_map}",
        f"From {sentence_on_sample(len(chosen), len(study.rows))}, by classical scaling of 1 less the share of trees in which "
        f"two rows share a leaf. A leaf with less than {percent(1 / proximity.REGIONS, 0)} of its tree's draws counts as the "
        f"lowest node above it that has as many. The two coordinates stand for {percent(shares[0], 0)} and "
        f"{percent(shares[1], 0)} of the variance. The colour is the {noun}.",
    ]
    if study.rows.is_training:
        said.append("The forest was grown on these rows, which sets classes and targets further apart than those of new rows.")
    svg = drawing(study.target.paint_map(study, points, by, noun), *pictures.MAP_PANEL, label, "map-")
    return element("div", element("div", *map(paragraph, said)), figure(svg), class_="beside")


def trees(study):
    sizes = study.sizes
    deepest, leaves = (np.quantile(part, [0, 0.5, 1], method="nearest").tolist() for part in (sizes.depth, sizes.n_leaves))
    draws = [sizes.draws[k] for k in (0, 2, 4)]
    amounts = {"Depth of a tree": deepest, "Leaves of a tree": leaves, "Draws in a leaf": draws}
    lines = [[name, *(f"{amount:,}" for amount in known)] for name, known in amounts.items()]
    deepest_label = f"Share of leaves at each depth, from 0 to {len(sizes.leaves_by_depth) - 1}"
    sizes_label = f"Share of leaves by how many draws they have, from {draws[0]:,} to {draws[2]:,}"
    unit = "draws of the bootstrap: a row that a tree drew twice counts twice" if study.bootstraps else "rows"
    both = [
        figure(
            drawing(lambda sheet: pictures.depths(sheet, sizes.leaves_by_depth), *PANEL, deepest_label, "depths-"),
            f"Depths of all {sizes.n_leaves.sum():,} leaves; a root has depth 0.",
        ),
        figure(
            drawing(lambda sheet: pictures.leaf_sizes(sheet, sizes.leaves_by_draws), *PANEL, sizes_label, "sizes-"),
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
    head = element("h3", f"One of the trees, estimators_[{t}]")
    if sizes.depth[t] == 0:
        return joined([head, paragraph("It is a single leaf.")])
    if sizes.depth[t] >= tree.LEVELS:
        said += f" Its first {tree.LEVELS} levels of tests are drawn; (...) stands for what lies below."
    said += " Rows for which a test holds go left. "
    said += study.target.of_boxes
    label = f"The upper levels of the tree estimators_[{t}]"
    single = study.estimator.estimators_[t]
    svg = drawing(lambda sheet: tree.paint(sheet, single, study.names), *tree.SIZE, label, "tree-")
    names = study.classes or None
    text = export_text(single, feature_names=study.names, class_names=names, max_depth=tree.LEVELS - 1)
    rules = details("The rules as text", scrolling(preformatted(text, class_="rules"), "The rules as text"))
    return joined([head, paragraph(said), scrolling(figure(svg, class_="wide"), label), rules])
