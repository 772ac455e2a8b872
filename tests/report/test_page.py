"""Reports: what they show for all kinds of forests and rows, that all text is text, and that nothing is loaded."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import average_precision_score, log_loss, make_scorer, max_error, mean_absolute_error, roc_auc_score

from dforest import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    RandomTreesEmbedding,
)
from dforest.criterion import PythonCriterion
from dforest.inspection.report.chart import SERIES, STEPS
from dforest.inspection.report.markup import number
from dforest.inspection.report.outliers import value_of
from dforest.inspection.report.study import Study
from dforest.inspection.report.style import STYLE
from dforest.splitter import PythonSplitter, Test

EMPTY = {"meta", "br", "hr", "img", "input", "link"}
ALONE = {"meta"}
NAMES_A_PLACE = {"src", "href", "srcset", "action", "data", "poster", "background", "cite", "formaction", "ping", "manifest"}
LOADS = {"script", "img", "image", "iframe", "link", "object", "embed", "base", "form", "video", "audio", "foreignobject"}
EVIL = [
    "<script>alert(1)</script>", "$x^2$ & \"q\" 'r'", "a_b$c", "</style><b>", "&lt;i&gt;", "tab\tand\nline", "nul\x00 \x1b[1m",
    "名前 ü",
]  # fmt: skip


class Page(HTMLParser):
    """A page, parsed strictly: whatever is opened is closed, and nothing is duplicated."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.references, self.text, self.places, self.styles = [], [], [], [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.handle_endtag(tag)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        assert len(dict(attributes)) == len(attributes)
        for name, value in attributes:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value)
            if name in NAMES_A_PLACE or name.endswith(":href"):
                self.places.append(value)
            self.references += re.findall(r"url\((.*?)\)", value or "")
            self.references += [value] if name == "href" else []
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.styles if self.open and self.open[-1] == "style" else self.text).append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def check(report):
    """What holds for every report; returns its `Page`."""
    html = str(report)
    assert html == report.html and len(html.encode()) < 1_000_000
    page = Page(html)
    tags = {tag for tag, _ in page.tags}
    assert not tags & LOADS
    assert all(place.startswith("#") for place in page.places + page.references)
    assert "@import" not in html and "url(" not in "".join(page.styles)
    assert not re.search(r"(?:https?|ftp|file|data|javascript):", re.sub(r"</?text[^>]*>", "", html))
    assert len(set(page.ids)) == len(page.ids)
    assert {place[1:] for place in page.places + page.references} <= set(page.ids)
    policies = [dict(attributes) for tag, attributes in page.tags if tag == "meta" and "http-equiv" in attributes]
    assert policies[0]["content"].startswith("default-src 'none'")
    assert all(attributes["aria-label"] for tag, attributes in page.tags if tag == "svg")
    assert all(attributes.get("role") == "img" for tag, attributes in page.tags if tag == "svg")
    assert not re.search(r"\b(?:nan|inf|array)\b", page.words), page.words
    headings = [tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings.count("h1") == 1 and headings[0] == "h1"
    return page


def iris():
    return load_iris(return_X_y=True)


def diabetes():
    return load_diabetes(return_X_y=True)


def many_features():
    X = np.random.RandomState(0).normal(size=(60, 1000))
    return X, (X[:, 3] > 0).astype(int)


def many_classes():
    y = np.arange(1000) % 100
    return np.column_stack([y // 10, y % 10, np.random.RandomState(0).normal(size=1000)]), [f"class {k:02}" for k in y]


def holes():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8].copy()
    X[np.random.RandomState(0).rand(*X.shape) < 0.3] = np.nan
    X[:, 2] = np.nan
    X[::5, 1] = np.inf
    return X, y


def labels(kind):
    random = np.random.RandomState(0)
    size = np.array(["small", "middle", "large"])
    columns = {
        "colour": random.choice([f"colour {k}" for k in range(30)], 300),
        "size": size[random.randint(3, size=300)],
        "$ amount $": random.gamma(2, size=300),
        "flag": random.rand(300) < 0.5,
        "count": random.poisson(3, 300),
    }
    y = columns["$ amount $"] + 2 * (columns["size"] == "large") + 0.1 * random.normal(size=300)
    if kind == "pandas":
        frame = pd.DataFrame(columns).astype({"colour": "category"})
        frame["size"] = pd.Categorical(frame["size"], categories=size, ordered=True)
        frame.loc[::7, "colour"] = None
    else:
        kinds = {"colour": pl.Categorical, "size": pl.Enum(size.tolist())}
        frame = pl.DataFrame(columns).with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    return frame, y


def zeros_mostly():
    X = np.random.RandomState(0).normal(size=(400, 3))
    X[:, 0] = np.where(np.arange(400) % 50, 0, X[:, 0])
    return X, X[:, 0] + X[:, 1]


CASES = {
    "classes": (RandomForestClassifier(30, oob_score=True), iris),
    "two classes": (RandomForestClassifier(25, oob_score=True), lambda: load_breast_cancer(return_X_y=True)),
    "two classes, votes": (RandomForestClassifier(10, voting="hard", max_depth=2), lambda: load_breast_cancer(return_X_y=True)),
    "numbers": (RandomForestRegressor(30, oob_score=True), diabetes),
    "numbers in float32": (RandomForestRegressor(3), lambda: (diabetes()[0].astype(np.float32), diabetes()[1])),
    "huge numbers": (RandomForestRegressor(30, oob_score=True), lambda: (diabetes()[0], diabetes()[1] * 1e70)),
    "extra trees": (ExtraTreesClassifier(20), iris),
    "extra trees of numbers": (ExtraTreesRegressor(20, bootstrap=True, oob_score=True), diabetes),
    "one class": (RandomForestClassifier(25, oob_score=True), lambda: (iris()[0], ["only"] * 150)),
    "one row": (RandomForestClassifier(3), lambda: (np.ones((1, 2)), [1])),
    "one row of numbers": (RandomForestRegressor(3), lambda: (np.ones((1, 2)), [1.5])),
    "two rows": (RandomForestRegressor(30, bootstrap=False), lambda: ([[1, 2], [3, 4]], [1.5, 2])),
    "one target": (RandomForestRegressor(25, oob_score=True), lambda: (diabetes()[0], np.full(442, 3.25))),
    "one feature": (RandomForestClassifier(5), lambda: (iris()[0][:, :1], iris()[1])),
    "many features": (RandomForestClassifier(10), many_features),
    "many classes": (RandomForestClassifier(25, oob_score=True), many_classes),
    "holes": (RandomForestClassifier(25, oob_score=True), holes),
    "pandas": (RandomForestRegressor(25, oob_score=True), lambda: labels("pandas")),
    "polars": (RandomForestRegressor(5), lambda: labels("polars")),
    "rows without weight": (RandomForestClassifier(25, oob_score=True, class_weight={0: 0, 1: 1, 2: 2}), iris),
    "zeros mostly": (RandomForestRegressor(25), zeros_mostly),
    "few trees": (RandomForestClassifier(2, oob_score=True), iris),
    "constraints": (RandomForestClassifier(3, criterion="entropy", monotonic_cst=[1, 0, 0, -1]), lambda: two_of(iris())),
}


class RootOfGini(PythonCriterion):
    def impurity(self, statistics):
        p = statistics.class_weight / statistics.weight[:, None]
        return np.sqrt((p * (1 - p)).sum(axis=1))


class Sums(PythonSplitter):
    """Tests of x[0] + x[j]."""

    def find_split(self, node):
        j = int(node.random().integers(1, node.n_features))
        score, threshold, missing_left = node.best_along(node.X[:, 0] + node.X[:, j])
        return Test([j, threshold, missing_left], feature=j, score=score) if score >= 0 else None

    def goes_left(self, payload, X):
        j, threshold, _ = payload
        return X[:, 0] + X[:, int(j)] <= threshold

    def used_features(self, payload):
        return [0, int(payload.view(float)[0])], [0.5, 0.5]

    def describe(self, payload, names):
        j, threshold, _ = payload.view(float)
        return f"{names[0]} + {names[int(j)]} <= {threshold:.3g}"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("part", [{"criterion": RootOfGini()}, {"splitter": Sums()}], ids=["criterion", "splitter"])
def test_parts_of_ones_own(part):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["<b>", "one", "two", "three"]
    model = RandomForestClassifier(5, random_state=0, max_depth=3, **part).fit(X, y)
    words = check(model.report(X[::2], y[::2])).words
    assert f"{next(iter(part))} {next(iter(part.values()))!r}" in words
    assert ("<b> + " in words) == ("splitter" in part)
    assert clone(model).fit(X, y).report(X[::2], y[::2]).html == model.report(X[::2], y[::2]).html


def two_of(data):
    X, y = data
    return X[y < 2], y[y < 2]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("case", CASES)
def test_reports(case):
    model, make = CASES[case]
    X, y = make()
    model = clone(model).set_params(random_state=0).fit(X, y)
    page = check(model.report(X, y))
    assert type(model).__name__ in page.words
    n_pictures = sum(tag == "svg" for tag, _ in page.tags)
    assert n_pictures >= 5 if case not in ("one row", "one row of numbers") else n_pictures >= 3
    other = check(model.report(X[: len(y) // 2], y[: len(y) // 2])) if len(y) > 20 else None
    assert other is None or "does not recognise" in other.words
    check(model.report(X[:30]))
    check(model.report())


BOOSTED = {
    "classes": (HistGradientBoostingClassifier(max_iter=8), iris),
    "two classes": (HistGradientBoostingClassifier(early_stopping=True), lambda: load_breast_cancer(return_X_y=True)),
    "numbers": (HistGradientBoostingRegressor(early_stopping=True, scoring="r2"), diabetes),
    "training scores": (HistGradientBoostingRegressor(early_stopping=True, validation_fraction=None, max_iter=9), diabetes),
    "labels": (HistGradientBoostingRegressor(max_iter=5), lambda: labels("pandas")),
    "no split": (HistGradientBoostingRegressor(max_iter=2), lambda: (diabetes()[0][:30], diabetes()[1][:30])),
    "many classes": (HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2), many_classes),
}


@pytest.mark.filterwarnings("ignore:.*no tree has a split")
@pytest.mark.slow(after=2)
@pytest.mark.parametrize("case", BOOSTED)
def test_reports_on_boosted_trees(case):
    model, make = BOOSTED[case]
    X, y = make()
    model = clone(model).set_params(random_state=0).fit(X, y)
    page = check(model.report(X[::2], y[::2]))
    assert "Gradient-boosted trees for" in page.words and "Would more iterations help?" in page.words
    assert "out of bag" not in page.words and "Proximity map" not in page.words and "oob" not in page.words
    assert "The forest" not in page.words and "By gain:" in page.words
    assert f"Iterations {model.n_iter_}" in page.words and "estimators_[" in page.words
    alone = check(model.report()).words
    if model.do_early_stopping_:
        name = "r2" if model.scoring == "r2" else "loss"
        which = "training rows" if model.validation_fraction is None else "rows held out"
        assert f"The {name} of {which} is best after" in alone
    else:
        assert "No scores by iteration are known." in alone
        assert "of the rows of X is best after" in page.words


def test_the_curve_of_boosted_trees_is_that_of_staged_predictions():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[::2], y[::2])
    curve = Study(model, X[1::2], y[1::2], "roc_auc").curve
    scores = [roc_auc_score(y[1::2], proba[:, 1]) for proba in model.staged_predict_proba(X[1::2])]
    np.testing.assert_allclose(curve.values, np.array(scores)[curve.n_trees - 1])
    assert curve.n_trees[0] == 1 and curve.n_trees[-1] == 60 and not curve.is_error


def test_the_curve_of_a_fit_that_stopped_early_has_the_iterations_that_were_dropped():
    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(early_stopping=True, defaults="scikit-learn", random_state=0).fit(X, y)
    curve, n_grown = Study(model, None, None).curve, len(model.validation_score_) - 1
    assert n_grown == model.n_iter_ + 10 == curve.n_trees[-1] and curve.best == (model.n_iter_, -model.best_score_)
    np.testing.assert_array_equal(curve.values, -model.validation_score_[1:])
    np.testing.assert_array_equal(curve.other, -model.train_score_[1:])
    words = check(model.report()).words
    assert "More iterations are unlikely to help" in words and f"{model.n_iter_}, best" in words
    assert f"is best after {model.n_iter_} iterations" in words and f"after all {n_grown} that were grown" in words
    whole = clone(model).set_params(use_best_model=False).fit(X, y)
    assert Study(whole, None, None).curve.n_kept is None and "The model has the first" not in check(whole.report()).words


def rare(n=4000):
    random = np.random.RandomState(0)
    X = random.normal(size=(n, 4))
    return X, np.where(X[:, 0] + X[:, 1] + random.normal(scale=1.5, size=n) > 4.5, "<failure>", "healthy")


def test_a_rare_class():
    X, y = rare()
    share = np.mean(y == "<failure>")
    assert 0.01 < share < 0.02
    model = RandomForestClassifier(30, min_samples_leaf=20, oob_score=True, random_state=0).fit(X, y)
    study, page = Study(model, X, y), check(model.report(X, y))
    probability = model.oob_decision_function_[:, 0]
    score = average_precision_score(y == "<failure>", probability)
    assert study.score == pytest.approx(score) and study.rare == study.positive == 0
    tiles = f"Average precision of <failure> out of bag {score:.3g} The same of a constant prediction {study.constant_score:.3g}"
    assert tiles in page.words
    assert study.constant_score == pytest.approx(share)
    entropy, brier = log_loss(y, np.tile([share, 1 - share], (len(y), 1))), share * (1 - share)
    assert re.search(rf"Accuracy 0.98\d* {1 - share:.3g} Balanced accuracy 0\.5\d* 0\.5 ", page.words)
    assert re.search(rf"Log loss 0\.\d+ {entropy:.3g} Brier score 0\.\d+ {brier:.3g} Area \D* 0\.\d+ 0\.5 ", page.words)
    assert "Recall of <failure> 0 0 Precision of <failure> not defined not defined" in page.words
    assert f"The forest never predicts the class <failure>, though {sum(y != 'healthy')} of 4,000 rows" in page.words
    assert "The class <failure> is rare" in page.words and "right for 98." in page.words
    assert "Fall of the average precision of <failure> when permuted" in page.words
    assert "Precision and recall" in page.words and "Predicted probability of <failure>" in page.words
    curve = study.curve
    assert curve.name == "average precision of <failure>" and curve.where == "out of bag"
    assert curve.values[-1] == pytest.approx(score)
    assert study.quality.stated.max() < 0.5
    held_out = check(model.report(*(part[:3000] for part in (X, y)))).words
    assert "Average precision of <failure> of the rows of X" in held_out
    assert "is rare" not in check(model.report(X)).words


def test_precision_stands_beside_recall_and_shifted_probabilities_are_explained():
    """The head of such a page showed a recall of 85 % alone, where precision was 1.6 %."""
    X, y = rare()
    y = pd.Series(y, name="state <today>")
    model = RandomForestClassifier(60, min_samples_leaf=5, bootstrap="balanced", oob_score=True, random_state=0).fit(X, y)
    study, words = Study(model, X, y), check(model.report(X, y)).words
    found, true = study.quality.predicted == 0, y.to_numpy() == "<failure>"
    recall, precision = np.mean(found[true]), np.mean(true[found])
    assert recall > 0.6 and precision < 0.1
    assert f"Rows of <failure> that are recognised {100 * recall:.1f}%" in words
    assert f"Rows predicted as <failure> that are right {100 * precision:.1f}%" in words and "It predicts state <today>." in words
    assert "Here, bootstrap='balanced' draws the classes in other shares than they have among the rows, which shifts" in words
    # Thresholds are where probabilities are.
    rows = words.partition("Threshold Precision Recall Rows found ")[2].split(" Calibration")[0].split()
    counts = [int(n.replace(",", "")) for n in rows[3::4]]
    assert counts == sorted(counts) and counts[0] < 20 and 1900 < counts[-1] < 2100 and len(counts) > 8
    weighed = clone(model).set_params(bootstrap=True, class_weight={"<failure>": 5, "healthy": 1}).fit(X, y)
    words = check(weighed.report(X[:900], y.to_numpy()[:900])).words
    assert "Here, class_weight={'<failure>': 5, 'healthy': 1} gives the classes" in words and "It predicts" not in words
    plain = check(clone(model).set_params(bootstrap=True, min_samples_leaf=300).fit(X, y).report(X, y)).words
    assert "shifts probabilities" not in plain and "none predicted" in plain


def test_a_rare_class_of_several():
    X, y = rare()
    y = np.where((y == "healthy") & (X[:, 2] > 0), "well", y)
    model = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    words = check(model.report(X, y)).words
    assert "Accuracy out of bag" in words and "Average precision of <failure>" in words
    assert "Threshold on the probability of <failure>" in words


@pytest.mark.parametrize("is_training", [True, False])
def test_a_measure_of_ones_choice(is_training):
    X, y = diabetes()
    model = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    X, y = (X, y) if is_training else (X[::2], y[::2])
    words = check(model.report(X, y, scoring="neg_mean_absolute_error")).words
    predicted = model.oob_prediction_ if is_training else model.predict(X)
    where = "out of bag" if is_training else "of the rows of X"
    score = mean_absolute_error(y, predicted)
    constant = mean_absolute_error(y, np.full(len(y), y.mean()))
    assert f"Mean absolute error {where} {score:.3g} The same of a constant prediction {constant:.3g} Trees" in words  # tiles
    table = words.partition("Figure Value Constant prediction ")[2]
    assert re.match(rf"Mean absolute error {score:.3g} {constant:.3g} R² 0\.\d+ 0 Root mean", table)  # 0, without rounding
    assert f"The mean absolute error {where}, by the first trees." in words
    assert "Rise of the mean absolute error when permuted" in words and "the mean absolute error" in words
    study = Study(model, X, y, "neg_mean_absolute_error")
    assert study.curve.values[-1] == pytest.approx(score) and study.curve.is_error
    assert study.permutation.mean.argmax() in (2, 8)  # bmi and s5
    other = check(model.report(X, y, scoring=make_scorer(max_error, greater_is_better=False))).words
    assert f"Max error {where} {max_error(y, predicted):.3g}" in other
    if is_training:
        unseen = check(clone(model).set_params(oob_score=False).fit(X, y).report(X, y, scoring="neg_max_error")).words
        assert "Max error of its training rows" in unseen and "No errors out of bag are known" in unseen


def test_a_flat_curve():
    X = np.arange(400.0)[:, None]
    model = RandomForestClassifier(100, max_depth=1, oob_score=True, random_state=0).fit(X, np.arange(400) == 200)
    words = check(model.report()).words
    assert "stays at 0.0025 from 26 trees on: more trees do not change it" in words and "e-" not in words


def test_progress(capsys):
    model = RandomForestClassifier(5, random_state=0).fit(*iris())
    quiet = model.report(*iris()).html
    assert capsys.readouterr().err == ""
    assert model.report(*iris(), verbose=1).html == quiet
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 8 and lines[0].startswith("1 of 8 sections, ") and lines[-1] == "8 of 8 sections"
    with pytest.raises(ValueError, match="verbose=-1; allowed are integers from 0"):
        model.report(verbose=-1)


def test_a_forest_alone_says_what_is_missing():
    words = check(RandomForestRegressor(10, random_state=0).fit(*diabetes()).report()).words
    assert "Fit the forest with oob_score=True to see whether more trees would help." in words
    assert "pass rows, best such as the forest was not grown on, as X and y to report" in words
    assert "Importances by permutation are not known: pass rows, as X and y, to report." in words
    assert words.count("This section needs rows: pass them as X and y to report.") == 2
    words = check(ExtraTreesRegressor(10, random_state=0).fit(*diabetes()).report()).words
    assert "Fit the forest with bootstrap=True, without which trees leave out no rows, and with oob_score=True" in words
    words = check(RandomForestRegressor(10, random_state=0).fit(*diabetes()).report(diabetes()[0])).words
    assert "pass their targets as y to report, besides X" in words


@pytest.mark.slow
def test_figures_say_where_they_are_from():
    X, y = iris()
    model = RandomForestClassifier(30, random_state=0, oob_score=True).fit(X, y)
    words = check(model.report(X, y)).words
    assert "each is predicted out of bag" in words and "by how much the accuracy out of bag falls" in words
    assert f"Accuracy out of bag {100 * model.oob_score_:.1f}%" in words
    words = check(clone(model).set_params(oob_score=False).fit(X, y).report(X, y)).words
    assert "these figures are too good" in words and "Fit it with oob_score=True" in words
    words = check(model.report(X[::2], y[::2])).words
    assert "does not recognise" in words and "permutations of all 75 rows of X" in words
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    words = check(model.report(X, y)).words
    assert "permutations of 2,000 of the 3,000 rows of X, drawn at random (seed 0)" in words
    assert "From 300 of the 3,000 rows of X, drawn at random (seed 0)" in words
    assert "From 400 of the 3,000 rows of X, drawn at random (seed 0)" in words


def test_all_text_is_text():
    """Names, labels and parameters that look like HTML, or like formulas to matplotlib."""
    X, y = load_breast_cancer(return_X_y=True)
    X = pd.DataFrame(X[:, :9], columns=[*EVIL, "a name that goes on and on " * 40])
    X[EVIL[2]] = pd.Categorical(np.array(EVIL)[np.digitize(X[EVIL[2]], np.quantile(X[EVIL[2]], [0.2, 0.5, 0.7]))])
    y = np.array([EVIL[0], EVIL[3]])[y]
    model = RandomForestClassifier(30, random_state=0, class_weight={EVIL[0]: 1, EVIL[3]: 2}, oob_score=True, max_features=None)
    report = model.fit(X, y).report(X, y)
    page = check(report)
    shown = " ".join([page.words, *(attributes.get("aria-label", "") for _, attributes in page.tags)])
    for name in EVIL:
        assert " ".join(name.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").split()) in shown, name
    assert "<script" not in report.html and "</style><b>" not in report.html
    assert "class_weight" in page.words and "mathdefault" not in report.html


@pytest.mark.slow
def test_a_report_is_the_same_again():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = RandomForestRegressor(30, random_state=0, oob_score=True).fit(X, y)
    alone = model.report(X, y).html
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda _: model.report(X, y).html, range(6))) == {alone}
    assert clone(model).fit(X, y).report(X, y).html == alone


def test_the_forest_stays_as_it_was():
    X, y = iris()
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    before = set(vars(model)) | {"_trees"}
    model.report(X, y)
    assert set(vars(model)) <= before


def test_saving(tmp_path):
    model = RandomForestClassifier(3, random_state=0).fit(*iris())
    path = tmp_path / "report.html"
    report = model.report(path=path)
    assert path.read_text(encoding="utf-8") == str(report)
    other = model.report(*iris())
    assert other.save(str(path)) is other and path.read_text(encoding="utf-8") == other.html
    assert repr(other).startswith("<Report on a RandomForestClassifier, ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("place", ["missing/report.html", "."])
def test_a_path_that_can_not_be_written_is_found_first(tmp_path, place, monkeypatch):
    model = RandomForestClassifier(3, random_state=0).fit(*iris())
    monkeypatch.setattr("dforest.inspection.report.report.Study", None)  # nothing is computed
    with pytest.raises(OSError, match=r"path='.*' can't be written: .*; allowed is a file in a folder that exists"):
        model.report(*iris(), path=tmp_path / place)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_kept_if_the_report_fails(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError):
        RandomForestClassifier(3, random_state=0).fit(*iris()).report(iris()[0], np.full(150, 9), path=path)
    assert path.read_text() == "old"


def test_notebooks_show_it_in_a_frame():
    report = RandomForestClassifier(3, random_state=0).fit(*iris()).report()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.feed(report._repr_html_())
    ((tag, attributes),) = tags
    assert tag == "iframe" and attributes["srcdoc"] == report.html and attributes["sandbox"] == ""


def test_what_is_refused():
    X, y = iris()
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y is given without X"):
        model.report(y=y)
    with pytest.raises(ValueError, match="features"):
        model.report(X[:, :2], y)
    with pytest.raises(ValueError, match="y holds 5; the classes are"):
        model.report(X, np.full(150, 5))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.report(X, y[:-1])
    with pytest.raises(ValueError, match="scoring='rok_auc' names no scorer"):
        model.report(scoring="rok_auc")
    with pytest.raises(ValueError, match="scoring='roc_auc' can't score y: multi_class must be"):
        model.report(X, y, scoring="roc_auc")


def test_forests_and_boosted_trees_alone_report():
    for other in (DecisionTreeClassifier, RandomTreesEmbedding):
        assert not hasattr(other(), "report")


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None  # an import of it fails
from dforest import ImportanceDisplay, RandomForestClassifier
model = RandomForestClassifier(3, random_state=0).fit([[1], [2]], [0, 1])
assert "<svg" in model.report([[1], [2]], [0, 1]).html
try:
    ImportanceDisplay.from_estimator(model)
except ImportError as error:
    assert str(error).startswith("ImportanceDisplay needs matplotlib; install it with: pip install 'matplotlib"), error
else:
    raise AssertionError
"""


def test_without_matplotlib():
    subprocess.run([sys.executable, "-c", WITHOUT_MATPLOTLIB], check=True)


def test_colours_are_those_of_both_screens():
    light, dark = STYLE.split("prefers-color-scheme:dark")
    for name in [*SERIES, *STEPS, "other", "muted", "grid"]:
        assert f"--{name}:#" in light and f"--{name}:#" in dark
    assert len(set(re.findall(r"--[cs]\d:(#\w+)", light))) == len(SERIES) + len(STEPS)


def test_rankings():
    rng = np.random.default_rng(0)
    X, group = rng.standard_normal((400, 3)), [20] * 20
    y = np.clip(np.floor(X[:, 0] + np.abs(X[:, 1])), 0, 4)
    model = HistGradientBoostingRanker(max_iter=20, early_stopping=True, validation_fraction=0.4, random_state=0)
    model.fit(X, y, group=group)
    words = check(model.report(X, y, group=group)).words
    for text in ("Gradient-boosted trees for ranking", "The NDCG@10 of rows held out", "MAP@10", "Grades by place",
                 "20, of 20 rows", "Fall of the NDCG@10 when permuted"):  # fmt: skip
        assert text in words, text
    assert "The MAP@3 of the rows of X, by the first iterations." in check(model.report(X, y, group=group, scoring="map@3")).words
    assert "pass rows, best such as the model was not grown on" in check(model.report()).words
    assert "pass their targets as y" in check(model.report(X)).words
    for given, message in (
        ({"y": y}, "neither qid nor group is given"),
        ({"group": group}, "group is given without y; allowed are both, or neither"),
        ({"y": y, "group": [20] * 19}, "group adds up to 380, and X has 400 rows"),
        ({"y": y, "group": group, "scoring": "loss"}, "scoring='loss'; allowed for ranking are \"ndcg\", \"map\""),
        ({"y": y + 0.5, "group": group, "scoring": "ndcg"}, "allowed with NDCG are integers from 0 to 31"),
        ({"y": y, "group": group, "verbose": -1}, "verbose=-1; allowed are integers from 0"),
    ):
        with pytest.raises(ValueError, match=message):
            model.report(X, **given)


def test_survival_times():
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    time = rng.exponential(np.exp(2 * X[:, 0]))
    y = np.column_stack([rng.random(120) < 0.7, time])
    forest = RandomSurvivalForest(30, oob_score=True, random_state=0).fit(X, y)
    words = check(forest.report(X, y)).words
    for text in ("Random forest for survival times", "Concordance (Harrell) out of bag", "Kaplan-Meier", "low risk", "log-rank",
                 "Integrated Brier score", "Fall of the concordance (Harrell) when permuted"):  # fmt: skip
        assert text in words, text
    assert "Out-of-bag concordance" in check(forest.report()).words
    assert "pass their targets as y" in check(forest.report(X)).words
    entered = np.column_stack([y, time / 2])
    assert "not defined" in check(RandomSurvivalForest(3, random_state=0).fit(X, entered).report(X[:40], entered[:40])).words
    check(forest.report(X[:1], y[:1]))  # without a pair to compare
    check(forest.report(X[:40], y[:40] * [0, 1]))
    for given, message in (
        ({"y": y[:-1]}, "y has 119 rows, and X has 120"),
        ({"y": y, "scoring": "r2"}, "scoring='r2'; allowed for survival times are None, \"harrell\" and \"uno\""),
        ({"y": y[:, :1]}, "y has 1 columns"),
        ({"y": y, "verbose": -1}, "verbose=-1; allowed are integers from 0"),
    ):
        with pytest.raises(ValueError, match=message):
            forest.report(X, **given)


def test_outliers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(200), "kind": pd.Categorical(["usual"] * 199 + ["odd"])})
    frame.loc[7, "x"] = 40.0
    forest = IsolationForest(random_state=0, contamination=0.05).fit(frame)
    words = check(forest.report(frame)).words
    for text in ("Isolation forest for outliers", "Of the rows that the forest was grown on, 10 of 200 are outliers (5.0%)",
                 "The colour is the mean path length", "They are in the order of the columns"):  # fmt: skip
        assert text in words, text
    lowest = np.argsort(forest.score_samples(frame), kind="stable")[:15].tolist()
    assert {7, 199} <= set(lowest)
    values = forest.shap_values(frame.iloc[[7, 199]]).values
    assert re.search(rf"\b7 −0\.\d+ x = 40 \({number(values[0, 0])}\)", words)
    assert f"kind = odd ({number(values[1, 1])})" in words
    study = Study(forest, frame, None)
    assert [value_of(study, value, 0) for value in (np.nan, np.inf)] == ["x = missing", "x = infinite"]
    assert "Scores need rows" in check(forest.report()).words
    check(forest.report(frame[:1]))
    X = csr_matrix(rng.poisson(0.5, (100, 4)).astype(float))
    assert "x[" in check(IsolationForest(random_state=0).fit(X).report(X)).words
    extended = check(IsolationForest(extension_level=1, random_state=0).fit(X).report(X)).words
    assert "what a single feature adds is not known" in extended and "Features that shorten" not in extended
