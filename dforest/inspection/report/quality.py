"""The section of a report on predictions: their quality, confusion or residuals, calibration. HTML from a `Study`."""

import numpy as np
from sklearn.metrics import confusion_matrix

from dforest.inspection.report import assessment, findings, pictures
from dforest.inspection.report.markup import absent, count, details, element, figure, joined, number, paragraph, percent, table
from dforest.inspection.report.rows import SEED
from dforest.inspection.report.text import shortened

MATRIX_CLASSES = 12  # more than that, and the commonest confusions are listed
BESIDE_CLASSES = 7  # more than that, and the matrix needs the width of the page
LISTED_CONFUSIONS = 15
LISTED_CLASSES = 30
FOUND = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # shares of rows that listed thresholds find


def predictions(study):
    """The section."""
    if not study.has_targets:
        cure = (
            f"How well rows are predicted is not known: pass rows, best such as the {study.model.noun} was not grown on, as X "
            "and y to report."
            if study.rows is None
            else "How well the rows are predicted is not known: pass their targets as y to report, besides X."
        )
        return absent(cure + known_out_of_bag(study))
    if study.quality is None:
        return absent("No tree left out any of the rows, so none is predicted out of bag. More trees leave out more rows.")
    said, is_warning = source(study)
    return joined([paragraph(said, class_="note" if is_warning else None), *study.target.parts(study)])


def known_out_of_bag(study):
    """What the estimator itself knows about its errors: a sentence, or nothing."""
    curve = study.curve
    if curve is None or not np.isfinite(curve.values[-1]):
        return ""
    return f" The {curve.name} {curve.where} is {number(curve.values[-1])}."


def source(study):
    """Which rows and which trees the figures are from: (text, whether it is a warning)."""
    n, (rows, _, is_out_of_bag) = len(study.rows), study.predictions
    if is_out_of_bag:
        never = "" if len(rows) == n else f" {count(n - len(rows), 'row')} that no tree left out are not counted."
        return (
            "X and y are the rows that the forest was grown on. So each is predicted out of bag, by the trees that did not draw "
            "it, and these figures are estimates for new rows." + never
        ), False
    if study.rows.is_training:
        cure = "Fit it with oob_score=True" if study.bootstraps else "Fit it with bootstrap=True and oob_score=True"
        if study.curve is not None:  # there are predictions out of bag elsewhere, as with dforest.dask
            cure = "Pass rows held out."
        else:
            cure += " to see predictions out of bag, or pass rows held out."
        return (
            "X and y are the rows that the forest was grown on, and it knows them: these figures are too good, and say little "
            f"about new rows. {cure}"
        ), True
    if not study.is_forest:
        return (
            f"These are the predictions for the {count(n, 'row')} of X. A model does not know the rows that it was grown on: if "
            "these are among them, the figures are too good."
        ), False
    return (
        f"These are the predictions of all trees for the {count(n, 'row')} of X, which the forest does not recognise as the rows "
        "that it was grown on. If some of them are among those, though in another order, the figures are too good."
    ), False


def figures_table(study):
    """The measure and the figures of quality, each beside that of a constant prediction."""
    title, shown, quality = study.measure.title, study.measure.shown, study.quality
    constant = {title: float(shown(study.constant_score)), **quality.constant}
    lines = []
    for name, amount in {title: float(shown(study.score)), **quality.figures}.items():
        pair = amount, assessment.without_rounding(constant[name], amount)
        lines.append([name, *("not defined" if each is None or np.isnan(each) else number(each) for each in pair)])
    caption = f"The quality of the predictions {study.where}, and that of {study.target.of_constant}"
    listing = table(["Figure", "Value", "Constant prediction"], lines, caption, {1, 2})
    worse = findings.of_constant(quality.figures, quality.constant, study.target.of_constant)
    return listing if worse is None else joined([listing, paragraph(worse, class_="note")])


def class_parts(study):
    quality, n_classes = study.quality, len(study.classes)
    matrix = np.array([[len(quality.true)]])  # of one class, about which scikit-learn would warn
    if n_classes > 1:
        matrix = confusion_matrix(quality.true, quality.predicted, labels=np.arange(n_classes))
    figures = figures_table(study)
    confused = confusion(study, matrix) if n_classes <= MATRIX_CLASSES else confusions(study, matrix)
    left, right = element("div", element("h3", "Quality"), figures), element("div", element("h3", "Confusion"), confused)
    never = findings.never_predicted(quality, study.classes, study.model.noun)
    parts = [paragraph(never, class_="note")] if never else []
    if study.rare is not None and not study.measure.is_chosen:
        parts.append(paragraph(on_accuracy(study)))
    is_wide = BESIDE_CLASSES < n_classes <= MATRIX_CLASSES
    parts += [left, right] if is_wide else [element("div", left, right, class_="beside")]
    if n_classes > 2:
        parts.append(by_class(study, matrix))
    if quality.thresholds is not None:
        parts += [element("h3", "Precision and recall"), thresholds(study)]
    return [*parts, element("h3", "Calibration"), calibration(study)]


def on_accuracy(study):
    """Why accuracy says little: a sentence."""
    quality, n_rows = study.quality, len(study.quality.true)
    n, name = np.count_nonzero(quality.true == study.rare), shortened(study.classes[study.rare], 30)
    looked_at = f" This page looks at the {study.measure.name} instead." if len(study.classes) == 2 else ""
    return (
        f"The class {name} is rare: {n:,} of {n_rows:,} rows have it ({percent(n / n_rows)}). So accuracy says little: always "
        f"predicting the commonest class is right for {percent(quality.constant['Accuracy'])} of the rows.{looked_at} "
        "report(scoring=...) takes any other measure."
    )


def thresholds(study):
    """Precision and recall of the rare class by the threshold on its probability."""
    found, name = study.quality.thresholds, shortened(study.classes[study.rare], 24)
    label = f"Precision and recall of {name} by the threshold on its probability"
    chart = pictures.thresholds(label, found, name)
    caption = (
        f"If all rows are taken for {name} whose probability of it is at least the threshold. The F1, which is the harmonic mean "
        f"of both, is largest at {number(found.best)}. Listed are this threshold, one half, and those that find between "
        f"{percent(FOUND[0])} and {percent(FOUND[-1], 0)} of the rows."
    )
    lines, probability = [], study.quality.probability[:, study.rare]
    listed = [0.5, found.best, *np.quantile(probability, np.subtract(1, FOUND), method="inverted_cdf").tolist()]
    for threshold in sorted({float(f"{threshold:.3g}") for threshold in listed}, reverse=True):
        there = found.at(threshold)
        cells = ["none", "0%", "0"] if there is None else [percent(there[0]), percent(there[1]), f"{there[2]:,}"]
        lines.append([number(threshold), *cells])
    head = ["Threshold", "Precision", "Recall", "Rows found"]
    listing = table(head, lines, label, {0, 1, 2, 3}, row_head=False)
    return element("div", figure(chart, caption), element("div", listing), class_="beside")


def calibration(study):
    quality, n_classes = study.quality, len(study.classes)
    if n_classes == 1:
        return absent("There is one class, whose probability is always 1.")
    is_rare = study.positive is not None and study.positive == study.rare
    which = "the predicted class" if study.positive is None else shortened(study.classes[study.positive], 24)
    claim, axis = f"the probability of {which}", f"Predicted probability of {which}"
    label = f"Reliability of {claim}: stated probabilities, and the share of rows for which they came true"
    charts = pictures.calibration(label, quality, axis)
    charts += pictures.claims(f"How often which probability of {which} is stated", quality.claim, axis)
    caption = f"Rows in {count(len(quality.stated), 'bin')} by {claim}, " + (
        "each with about as many rows that should have the class by it" if is_rare else "about as many in each"
    )
    caption += (
        ", with two standard errors. Points above the dashed line came true more often than predicted. The bars count the rows, "
        "on a scale of powers of ten."
    )
    lines = [[number(stated), number(observed)] for stated, observed in zip(quality.stated, quality.observed, strict=True)]
    name = "Predicted probabilities, and how often they came true"
    listing = table(["Predicted, mean", "Came true"], lines, name, {0, 1}, row_head=False)
    shifted = findings.of_shifted_classes(study.estimator)
    why = [] if shifted is None else [paragraph(shifted, class_="note")]
    said = element("div", paragraph(findings.of_calibration(quality, claim, n_classes)), *why, listing)
    return element("div", figure(charts, caption), said, class_="beside")


def confusion(study, matrix):
    """The confusion matrix: a row for each true class."""
    names = [shortened(name, 24) for name in study.classes]
    lines = []
    for k, counts in enumerate(matrix):
        total = counts.sum()
        cells = []
        for j, n in enumerate(counts):
            part = 0 if n == 0 else max(4, round(60 * n / total))
            cells.append(element("td", f"{n:,}", class_="right" if j == k else "wrong", style=f"--part:{part}%"))
        lines.append([names[k], *cells])
    note = paragraph(
        "A row for each true class, a column for each predicted one. The fuller the colour, the larger the share of the true "
        "class."
    )
    return joined([note, table(["True ↓, predicted →", *names], lines, "Confusion of classes", class_="confusion")])


def confusions(study, matrix):
    """The commonest confusions, where there are too many classes for a matrix."""
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:LISTED_CONFUSIONS]
    places = [(k, j) for k, j in zip(*np.unravel_index(order, wrong.shape), strict=True) if wrong[k, j]]
    if not places:
        return paragraph("No row is predicted wrongly.")
    lines = [[study.classes[k], study.classes[j], f"{wrong[k, j]:,}", percent(wrong[k, j] / matrix[k].sum())] for k, j in places]
    note = paragraph(f"There are {len(study.classes):,} classes, so the commonest confusions are listed instead of a matrix.")
    head = ["True class", "Predicted as", "Rows", "Share of the true class"]
    return joined([note, table(head, lines, "The commonest confusions", {2, 3})])


def by_class(study, matrix):
    """Recall and precision of each class."""
    right, true, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    order = np.argsort(-true, kind="stable")[:LISTED_CLASSES]

    def share(of, k):
        return percent(right[k] / of[k]) if of[k] else "none"

    lines = [[study.classes[k], f"{true[k]:,}", share(true, k), share(predicted, k)] for k in order]
    head = ["Class", "Rows", "Recognised (recall)", "Right if predicted (precision)"]
    listing = table(head, lines, "Recall and precision by class", {1, 2, 3})
    which = "by class" if len(order) == len(true) else f"of the {len(order)} commonest of {len(true):,} classes"
    return details(f"Recall and precision {which}", listing)


def number_parts(study):
    quality = study.quality
    chosen = np.arange(len(quality.true))
    if len(chosen) > pictures.POINTS:
        chosen = np.sort(np.random.RandomState(SEED).choice(len(chosen), pictures.POINTS, replace=False))
    difference = quality.true - quality.predicted
    left = pictures.residuals("Residuals by predictions", quality, chosen)
    right = pictures.agreement("Mean targets by mean predictions", quality)
    shown = "" if len(chosen) == len(difference) else f" {len(chosen):,} of {len(difference):,} rows are drawn."
    low, high = np.quantile(difference, [0.1, 0.9])
    left_caption = (
        f"By how much targets exceed predictions. On average it is {number(difference.mean())}; for 80% of the rows it lies "
        f"between {number(low)} and {number(high)}.{shown}"
    )
    right_caption = (
        f"Rows in {count(len(quality.stated), 'group')} by their predictions, about as many in each, with two standard errors. "
        "On the dashed line predictions are right on average."
    )
    both = element("div", figure(left, left_caption), figure(right, right_caption), class_="pictures")
    figures = figures_table(study)
    return [element("h3", "Quality"), figures, element("h3", "Residuals and calibration"), both]
