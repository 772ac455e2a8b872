"""What `check_table` finds in tables, and that it finds nothing where nothing is wrong."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine

import dforest
from dforest import SurvivalTree, check_table
from dforest.estimators.data.column_check import NUMBERS
from dforest.estimators.data.texts import READERS
from dforest.inspection.table.finding import Finding

N = 200
RANDOM = np.random.default_rng(0)
TOWN = RANDOM.choice(["Aachen", "Bern", "Cadiz"], N)
NUMBER = RANDOM.normal(size=N)
Y = RANDOM.integers(2, size=N)
LIBRARIES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])


def kinds(*arguments, **parameters):
    """The (column, kind) of all findings."""
    return [(found.column, found.kind) for found in check_table(*arguments, **parameters)]


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine])
def test_nothing_is_wrong_with_real_columns(load):
    """Iris has copies of a row, and `petal length` nearly gives its classes away."""
    found = check_table(*load(return_X_y=True, as_frame=True))
    assert {finding.kind for finding in found} <= {"repeated rows"}


@LIBRARIES
def test_columns(frame):
    table = frame(
        {
            "number": NUMBER,
            "town": TOWN.tolist(),
            "day": pd.date_range("2020-01-01", periods=N).date.tolist(),
            "fee": [f"${abs(value):.2f}" for value in NUMBER],
            "member": [f"M{i}" for i in range(N)],
            "row": np.arange(N),
            "same": np.full(N, 3),
            "none": [None] * N,
            "twin": NUMBER,
            "half": [1.0, None] * (N // 2),
        }
    )
    refused = [("day", "refused"), ("fee", "refused"), ("member", "id"), ("row", "id")]
    rest = [("same", "constant"), ("none", "missing"), ("twin", "duplicate")]
    assert kinds(table, Y) == [("town", "refused"), *refused, *rest]
    # All of these are labels then.
    labels = [("day", "refused"), ("member", "id"), ("row", "id"), *rest]
    auto = kinds(table, Y, categorical_features="auto")
    assert [found for found in auto if found[0] != "fee"] == labels


def test_messages_are_those_of_fit():
    X = pd.DataFrame({"town": TOWN, "number": NUMBER})
    (found,) = check_table(X)
    with pytest.raises(ValueError, match="categorical_features") as caught:
        dforest.RandomForestClassifier().fit(X, Y)
    assert found.what in str(caught.value) and found.advice[1:] in str(caught.value)


def test_labels_that_fit_refuses():
    X = pd.DataFrame({"mixed": ["a", 1] * (N // 2), "lists": [[1]] * N, "many": [f"n{i % 150}" for i in range(N)]})
    mixed, lists, many = check_table(X, categorical_features=["mixed", "many"])[:3]
    what = "holds labels of the types int, str, which can't be sorted; allowed are labels of one type"
    assert mixed == ("mixed", "refused", what, "")
    assert lists[:2] == ("lists", "refused") and many.what == "150 different labels in 200 rows, such as 'n0'"
    X = pd.DataFrame({"town": pd.Categorical(np.tile(np.arange(65536), 3))})
    assert check_table(X)[0][:3] == ("town", "refused", "65,536 different labels; allowed are up to 65,535")


def test_two_columns_of_one_name():
    X = pd.DataFrame(np.stack([NUMBER, NUMBER**2], axis=1), columns=["a", "a"])
    assert kinds(X) == [("a", "refused")]


def test_integers_are_ids_only_if_chance_would_repeat_them():
    n = 1000
    distinct = RANDOM.choice(20 * n, n, replace=False)  # chance would bring 25 equal pairs
    scattered = RANDOM.choice(10**6, n, replace=False)  # half a pair
    X = np.stack([distinct, scattered, distinct + 0.5, np.append(distinct[1:], distinct[1])], axis=1)
    assert kinds(X) == [(0, "id")]
    X[::7, 0] = np.nan
    assert kinds(X) == [(0, "id")]
    assert kinds(np.arange(29)[:, None]) == []


@pytest.mark.parametrize("n_classes", [2, 5])
def test_columns_that_give_classes_away(n_classes):
    y = RANDOM.integers(n_classes, size=2000)
    y[:20] = 0
    noise = RANDOM.random(len(y))
    X = pd.DataFrame(
        {
            "noise": noise,
            "later": y + noise / 2,
            "word": [f"word {k}" for k in y],
            "told": np.where(y == 0, np.nan, y),
            "nearly": np.where(noise < 0.05, 1 - y, y) + noise,
            "id": [f"n{i % 250}" for i in range(len(y))],
        }
    )
    found = kinds(X, y, categorical_features="auto")
    assert found == [(name, "gives y away") for name in ("later", "word", "told")]
    what = check_table(X[["later"]], y)[0].what
    assert what == f"predicts y alone, by {'a single split' if n_classes == 2 else '5 leaves'}: balanced accuracy 1.000"
    assert kinds(X[["nearly"]], y, max_score=0.9 if n_classes == 2 else 0.7) == [("nearly", "gives y away")]


AMOUNT = np.where(Y == 1, RANDOM.uniform(1, 3000, N), 0)
SINCE = pd.Timestamp("2020-01-01") + pd.to_timedelta(Y * 400 + RANDOM.integers(300, size=N), "D")
LEAKS = {
    "dollars": ([f"${value:,.2f}" for value in AMOUNT], "amounts"),
    "euros": ([f"{value:,.2f} €".translate({44: ".", 46: ","}) for value in AMOUNT], "amounts"),
    "debts": ([f"-{value:.2f} €" if value else "7.00 €" for value in AMOUNT], "amounts"),
    "days": (SINCE.strftime("%d/%m/%Y"), "dates"),
    "months": (SINCE.strftime("%m/%d/%y"), "dates"),
    "iso": (SINCE.strftime("%Y-%m-%dT%H:%M"), "dates"),
    "typed": (SINCE, "dates"),
    "objects": (SINCE.date, "dates"),
    "known": (pd.Series(SINCE.strftime("%d/%m/%Y")).where(Y == 1), "dates"),
}


@pytest.mark.parametrize("auto", ["from_dtype", "auto"])
@pytest.mark.parametrize("name", LEAKS)
def test_dates_and_amounts_that_give_y_away(name, auto):
    """No two rows need to share a date or an amount for that, whatever `fit` would say of the column."""
    values, read = LEAKS[name]
    found = check_table(pd.DataFrame({"number": NUMBER, name: values}), Y, categorical_features=auto)
    (given,) = [finding for finding in found if finding.kind == "gives y away"]
    assert given.column == name
    assert given.what == f"predicts y alone, read as {read}, by a single split: balanced accuracy 1.000"
    mixed = pd.DataFrame({name: RANDOM.permutation(values)})
    assert "gives y away" not in {finding.kind for finding in check_table(mixed, Y, categorical_features=auto)}


def test_a_few_other_texts_hide_no_dates_or_amounts():
    """Before, one "?" made 400 different texts of dates, to be left out."""
    dates, euros = list(LEAKS["days"][0]), list(LEAKS["euros"][0])
    long = "see " + "the contract " * 9
    for column, other, kind in ((dates, "?", "dates"), (euros, "k.A.", "amounts"), (euros, long, "amounts")):
        values = [other if i % 40 == 7 else value for i, value in enumerate(column)]
        refused, given = check_table(pd.DataFrame({"number": NUMBER, "column": values}), Y)
        shown = other if len(other) < 40 else f"{other[:40]}..."
        assert refused[:3] == ("column", "refused", f"{shown!r} among {kind}") and "make it missing" in refused.advice
        assert given.what.startswith(f"predicts y alone, read as {kind}, by a single split")
        with pytest.raises(ValueError, match=f"X column 'column' holds .* among {kind}; .* Make it missing"):
            dforest.RandomForestClassifier().fit(pd.DataFrame({"column": values}), Y)


WRITTEN = {
    "1.234,50": (lambda value: f"{value:,.2f} €".translate({44: ".", 46: ","}), ""),
    "1,234.50": (lambda value: f"${value:,.2f}", ""),
    "1'234.50": (lambda value: f"CHF {value:,.2f}".replace(",", "'").removeprefix("CHF "), ""),
    "1.234 €": (lambda value: f"{value:,.0f} €".replace(",", "."), "(each point stands before three digits, and is taken for"),
    "1,234": (lambda value: f"{value:,.0f}", "(each comma stands before three digits, and is taken for"),
    "(1,234.50)": (lambda value: f"({-value:,.2f})" if value < 0 else f"{value:,.2f}", ""),
    "12,50": (lambda value: f"{value:.2f} €".replace(".", ","), ""),
    "12 %": (lambda value: f"{value:.0f} %", ""),
}


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("case", WRITTEN)
def test_the_line_for_amounts_makes_the_right_numbers(case, holes):
    """It is run as it is printed."""
    write, remark = WRITTEN[case]
    numbers = np.round(RANDOM.permutation(np.geomspace(1, 5e6, 200)) * RANDOM.choice([-1, 1], 200), 2)
    column = pd.Series([write(number) for number in numbers])
    expected = numbers if "50" in case else np.round(numbers)
    if holes:
        column[[3, 5, 60]], expected[[3, 5, 60]] = ["k.A.", "approx. 5", "?"], np.nan
    (found,) = [finding for finding in check_table(pd.DataFrame({"fee": column})) if finding.kind == "refused"]
    assert found.what.endswith(" among amounts") == holes and found.advice.startswith("make it missing") == holes
    line, _, said = found.advice.partition("pandas.to_numeric(")[2].partition(" (each")
    assert (f"(each{said}".startswith(remark) and said) if remark else not said
    np.testing.assert_array_equal(eval("pandas.to_numeric(" + line, {"pandas": pd, "column": column}), expected)


def test_amounts_whose_signs_differ_get_no_line():
    for texts in (["1,5 €", "2.25 €"], ["1,234.50 €", "1.234,50 €"], ["$1.234.567", "$1,234"], ["$5733,0", "$2,428.81"]):
        (found,) = check_table(pd.DataFrame({"fee": texts * 20}))[:1]
        assert found.advice.startswith("write all amounts the same way first"), texts


def test_numbers_stored_as_text():
    def found(texts):
        (finding,) = [f for f in check_table(pd.DataFrame({"n": texts * 40})) if f.kind != "repeated rows"]
        return finding

    thousands = found(["999", "1.234", "12.500"])
    assert thousands[:3] == ("n", "numbers stored as text", "text of numbers, such as '1.234'")
    assert thousands.advice.startswith("fit takes the point for a decimal one. If it marks thousands: pandas.to_numeric(")
    for texts in (["999", "1.23", "12.500"], ["0.125", "1.500"], ["1", "2"], ["1e3", "1.500"], ["1234.500", "1.500"]):
        assert found(texts)[1:] == ("numbers stored as text", f"text of numbers, such as {texts[0]!r}", NUMBERS)
    assert found([1.5, "2", None]).what == "text of numbers, such as '2'"
    # Thousands with commas, or several points, are no numbers, and not few enough among numbers to be made missing.
    for texts in (["999", "12", "1,234"], ["999", "1.234", "1.234.567"]):
        refused = found(texts)
        assert refused.kind == "refused" and refused.what.startswith("text of amounts") and "for thousands" in refused.advice
    assert found(["999", "12", "?"]).what == "'?' among numbers"
    table = pd.DataFrame({"n": ["1", "2"] * 40, "m": np.arange(80.0)})
    assert "numbers stored as text" not in dict(kinds(table, categorical_features=["n"])).values()


def test_refused_text_that_gives_y_away():
    numbers = RANDOM.permutation(4000) % 400  # ten rows of each word, so that hardly any word is in one half alone
    X = pd.DataFrame({"word": [f"word {k}" for k in numbers], "noise": RANDOM.normal(size=4000)})
    assert kinds(X, numbers % 3) == [("word", "refused"), ("word", "gives y away")]
    X = pd.DataFrame({"size": ["none" if i % 20 == 0 else value for i, value in enumerate(NUMBER)], "noise": NUMBER**2})
    y = np.array([value != "none" and value > 0 for value in X["size"]])
    assert kinds(X, y) == [("size", "refused"), ("size", "gives y away")]


@given(st.lists(st.integers(-(10**7), 10**7), min_size=1), st.sampled_from([",.", ".,", " .", "'."]))
def test_amounts_are_read(cents, signs):
    """Those that have decimals everywhere."""
    thousands, decimal = signs
    texts = [f"€ {cent / 100:,.2f}".translate({ord(","): thousands, ord("."): decimal}) for cent in cents]
    np.testing.assert_allclose(READERS["amounts"](texts), np.array(cents) / 100)


def test_amounts_without_decimals():
    for texts, numbers in [
        (["1,234", "5", "12"], [1234, 5, 12]),
        (["1.234.567", "1.000"], [1234567, 1000]),
        (["$1,234.5", "-$3"], [1234.5, -3]),
        (["(12.50)", "3,000.25"], [-12.5, 3000.25]),
        (["0,5", "1.000"], [0.5, 1000]),
        (["2. EUR"], [2]),
    ]:
        np.testing.assert_array_equal(READERS["amounts"](texts), numbers)


@pytest.mark.parametrize("pattern", ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d.%m.%y", "%Y/%m/%d %H:%M:%S"])
def test_dates_are_read_in_their_order(pattern):
    days = pd.date_range("1995-01-01", "2012-12-31", freq="29D") + pd.to_timedelta(np.arange(227) % 24, "h")
    numbers = READERS["dates"](days.strftime(pattern).tolist())
    assert (np.diff(numbers) > 0).all()


def test_copies_of_rows_hide_no_ids():
    n = 500
    X = pd.DataFrame({
        "order": [f"ORD-{i}" for i in range(n)],
        "number": RANDOM.permutation(n) + 7,
        "far": RANDOM.choice(10**6, n, replace=False),  # chance makes hardly any of these equal
        "price": [f"€ {i + 0.5}" for i in range(n)],
        "town": RANDOM.choice(["Aachen", "Bern"], n),
        "noise": RANDOM.normal(size=n),
    })  # fmt: skip
    for categorical in ("auto", "from_dtype"):
        own = kinds(X, categorical_features=categorical)
        assert [found for found in own if found[1] == "id"] == [("order", "id"), ("number", "id")]
        assert ("order", "refused") not in own
        for copied in (X[:20], X):
            twice = pd.concat([X, copied])
            assert kinds(twice, categorical_features=categorical) == [*own, (None, "repeated rows")]
    X = pd.concat([X, X[:20].assign(noise=0)])  # the rows are equal no longer
    found = {finding.column: finding for finding in check_table(X) if finding.kind == "id"}
    assert "order" in found and found["order"].what == "text that differs in nearly each row, such as 'ORD-0'"
    with pytest.raises(ValueError, match="leave it out, as a value that one row alone has"):
        dforest.RandomForestRegressor().fit(X, X["noise"])


@pytest.mark.parametrize("share", [0.6, 0.9, 0.97, 1])
def test_nothing_says_to_encode_what_few_rows_share(share):
    """Whether or not these are ids; rows are not equal."""
    n = 1000
    X = pd.DataFrame({"order": [f"ORD-{i % int(share * n)}" for i in range(n)], "noise": RANDOM.normal(size=n)})
    for categorical in ("auto", "from_dtype"):
        (found,) = check_table(X, categorical_features=categorical)
        assert found.column == "order" and found.advice.startswith("leave it out")
        assert (found.kind == "id") == (share > 0.95)


def test_refused_numbers_are_no_ids():
    X = pd.DataFrame({"size": ["unknown", *NUMBER[1:]], "hash": [2**60 + i * 2**20 for i in range(N)]})
    assert kinds(X) == [("size", "refused"), ("hash", "refused")]
    X = pd.DataFrame({"row": ["unknown", *range(1, N)], "noise": NUMBER})
    assert kinds(X) == [("row", "id")]


def test_rows_that_are_equal_in_all_else_are_no_copies():
    ages = RANDOM.integers(18, 78, size=100)
    assert kinds(ages[:, None]) == [(None, "repeated rows")]
    assert kinds(pd.DataFrame({"age": ages, "same": 1}))[:1] == [("same", "constant")]


@LIBRARIES
def test_label_variants(frame):
    towns = RANDOM.choice(["Paris", "PARIS ", "Lyon", "lyon", "Nice"], N).tolist()
    table = frame({"town": towns, "job": TOWN.tolist()})
    for categorical in ("auto", "from_dtype"):
        (found,) = [f for f in check_table(table, categorical_features=categorical) if f.kind == "label variants"]
        assert found.column == "town"
        assert found.what.startswith("2 labels in several variants of case or spaces: ")
        for town in ("Paris", "PARIS ", "Lyon", "lyon"):
            assert repr(town) in found.what
        assert "Nice" not in found.what


def test_dates_and_amounts_as_categories():
    text = SINCE.strftime("%d/%m/%Y")
    X = pd.DataFrame({"day": text, "fee": LEAKS["dollars"][0], "few": np.tile(["$1", "$2"], N // 2), "noise": NUMBER})
    found = check_table(X, categorical_features="auto")
    assert [finding[:2] for finding in found] == [("day", "many labels"), ("fee", "many labels")]
    assert found[0].what == f"dates make {len(set(text))} labels, whose order is lost, such as {text[0]!r}"
    assert "format=" in found[0].advice and "to_numeric" in found[1].advice
    (typed,) = check_table(pd.DataFrame({"day": SINCE, "noise": NUMBER}), categorical_features=["day"])
    assert typed[:2] == ("day", "many labels")


def test_rare_classes_count_as_much_as_others():
    y = np.zeros(5000, int)
    y[:50] = 1
    noise = RANDOM.random(len(y))
    X = np.stack([noise, y + noise, np.where(RANDOM.random(len(y)) < 0.5, 0, y) + noise], axis=1)
    assert kinds(X, y) == [(1, "gives y away")]  # no column has less than 99 % of the rows right


@pytest.mark.parametrize("scale", [1, 1e250, 1e-250])
def test_columns_that_give_numbers_away(scale):
    y = np.exp(RANDOM.normal(size=3000))
    X = np.stack([y, np.log(y), -y + RANDOM.normal(scale=0.01, size=len(y)), y + RANDOM.normal(size=len(y))], axis=1)
    found = check_table(X, y * scale)
    assert [(finding.column, finding.kind) for finding in found] == [(j, "gives y away") for j in (0, 1, 2)]
    assert "by 32 leaves: R2 of ranks 0.99" in found[0].what


def test_no_column_is_lost_by_the_bound():
    """Columns are tried on trees only if the order of their rows allows the score: the same findings without that."""
    from dforest.inspection.table.target import targets_of

    checked = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        y = random.integers(3, size=300) if seed % 2 else random.normal(size=300)
        (target,) = targets_of(y, 300, None)
        x = np.round(y + random.normal(scale=random.choice([0.01, 0.1, 0.5]), size=300), random.integers(3))
        x[random.random(300) < 0.05] = np.nan
        n_leaves = 3 if seed % 2 else 32
        bound = 1 - target._least_loss(x.take, n_leaves)
        target._least_loss = lambda *_: 0.0
        found = list(target.given_away("x", x.take, False, 0.3))
        if found:
            checked += 1
            assert float(found[0].what.split()[-1]) <= bound + 5e-4
    assert checked > 15


def test_several_outputs():
    y = np.stack([Y, RANDOM.integers(3, size=N)], axis=1)
    y[:3, 1] = 7
    X = np.stack([NUMBER, 2 * Y + RANDOM.random(N)], axis=1)
    given, rare = check_table(X, y)
    assert given[:2] == (1, "gives y away") and given.what.startswith("predicts column 0 of y alone")
    assert rare.what == "1 class of column 1 of y with fewer rows than 5 folds: 7 (3)"


def test_rows():
    X = pd.DataFrame({"number": NUMBER.round(1), "town": TOWN})
    X = pd.concat([X, X[:10]], ignore_index=True)
    X.loc[0, "number"] = X.loc[N, "number"] = np.nan
    y = np.append(Y, Y[:10])
    y[N + 1] = 1 - y[1]
    repeated = X.duplicated()
    groups = pd.Series(y).groupby([X["number"].fillna(99), X["town"]]).transform("nunique")
    rows, contradicting = check_table(X, y, categorical_features="auto")
    first = X.index[repeated][0]
    assert rows.kind == "repeated rows"
    assert rows.what.startswith(f"{repeated.sum()} rows are equal to earlier ones, such as rows ")
    assert rows.what.endswith(f" and {first}")
    assert contradicting.kind == "contradicting rows"
    assert contradicting.what.startswith(f"{(groups > 1).sum()} rows are equal to rows with another y")
    # A missing y contradicts none.
    assert [found.kind for found in check_table(X[:1].iloc[[0, 0]], [1.0, np.nan])][-2:] != ["contradicting rows", "y"]


@LIBRARIES
def test_rows_of_both_parts(frame):
    def table(rows, **others):
        return frame({"number": NUMBER[rows], "town": TOWN[rows].tolist(), "whole": np.arange(N)[rows] % 7} | others)

    X = table(np.arange(100))
    whole = {"whole": (np.arange(N)[90:110] % 7).astype(float)}  # of another type
    for test in (table(np.arange(90, 110)), table(np.arange(90, 110), **whole)):
        found = check_table(X, X_test=test, categorical_features="auto")[-1]
        assert found[1:3] == ("rows in both parts", "10 of 20 rows of X_test are in X too")
    assert kinds(X, X_test=table(np.arange(100, N)), categorical_features="auto") == []
    with pytest.raises(ValueError, match="X_test has other columns than X"):
        check_table(X, X_test=frame({"number": NUMBER}))


@LIBRARIES
@pytest.mark.parametrize("target", ["number", "town", "truth"])
def test_y_may_name_a_column(frame, target):
    columns = {"number": NUMBER, "town": TOWN.tolist(), "copy": 2 * NUMBER, "truth": (NUMBER > 0).tolist()}
    whole, y = frame(columns), columns.pop(target)
    X, settings = frame(columns), {"categorical_features": ["town"] if target != "town" else None}
    expected = check_table(X, y, X_test=X, **settings)
    assert [found.column for found in expected if found.kind == "gives y away"] == (["copy"] if target == "number" else []) + (
        ["number", "copy"] if target == "truth" else []
    )
    for test in (X, whole):
        assert check_table(whole, target, X_test=test, **settings) == expected


def test_y_that_names_no_column():
    X = pd.DataFrame({"a": NUMBER, "b": NUMBER})
    for table, message in [
        (X, "y='c', but the columns of X are 'a', 'b'; allowed are the name of one of the columns, and an array"),
        (X.set_axis(["c", "c"], axis=1), "y='c', but the columns of X are 'c', 'c'"),
        (X.to_numpy(), "y='c', but X has no column names"),
        (None, "y='c', but X has no column names"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_table(table, "c")


def test_y():
    X = NUMBER[:, None]
    y = NUMBER.copy()
    y[:3], y[5] = np.nan, np.inf
    assert [found.what for found in check_table(X**2, y)] == ["y has 3 missing values", "y has 1 infinite value"]
    assert [found.what for found in check_table(X, np.full(N, 2.5))] == ["y is 2.5 in all rows"]
    assert [found.what for found in check_table(X, ["a"] * N)] == ["y is 'a' in all rows"]
    classes = np.array(["a", "b", "c", None], object)[np.repeat([0, 1, 2, 3], [N - 10, 4, 2, 4])]
    found = check_table(X, classes)
    assert [finding.kind for finding in found] == ["y", "rare classes"]
    assert found[1].what == "2 classes of y with fewer rows than 5 folds: 'c' (2), 'b' (4)"
    assert kinds(X, classes, cv=2) == [(None, "y")]
    assert kinds(X, np.full(N, np.nan)) == [(None, "y")]


def test_task():
    counts = np.arange(N) % 40
    assert kinds(NUMBER[:, None], counts, cv=6) == []
    few = np.repeat([3, 5, 8], [1, 3, 7])  # four rows for each would be 12
    assert kinds(NUMBER[:11, None], few) == []
    assert kinds(NUMBER[:12, None], np.append(few, 8)) == [(None, "rare classes")]
    assert kinds(NUMBER[:3, None], [0, 1, 1]) == [(None, "rare classes")]
    assert kinds(NUMBER[:, None], counts, cv=6, task="classification") == [(None, "rare classes")]
    assert kinds(NUMBER[:, None], Y + 1.0, task="regression") == []
    with pytest.raises(ValueError, match="y holds 'a'; allowed with task='regression' are numbers"):
        check_table(NUMBER[:, None], ["a"] * N, task="regression")


def survival(**changes):
    """A good y of survival times as a frame, but for its first row."""
    columns = {"event": np.arange(N) % 3 > 0, "time": 1.0 + np.arange(N) % 50, "entry": np.zeros(N)}
    frame = pd.DataFrame(columns).astype({name: object for name in changes})
    for name, value in changes.items():
        frame.loc[0, name] = value
    return frame


def test_survival_times():
    X, y = NUMBER[:, None], survival()
    assert kinds(X, y, task="survival") == kinds(X, y[["event", "time"]].to_records(index=False)) == []
    assert kinds(np.column_stack([NUMBER, y.time * 2]), y, task="survival") == [(1, "gives y away")]
    assert kinds(np.column_stack([NUMBER, y.event]), y, task="survival") == [(1, "gives y away")]
    assert kinds(X, y.assign(event=1), task="survival") == []
    few = y.assign(event=np.arange(N) < 3)
    assert [found.what for found in check_table(X, few, task="survival")] == [
        "1 class of the event of y with fewer rows than 5 folds: True (3)"
    ]


@pytest.mark.parametrize(
    "y",
    [
        survival(time=-1.0), survival(time=np.nan), survival(event="yes"), survival(event=2), survival(event=pd.NA),
        survival(entry=9.0), survival(entry=-1.0), survival().assign(event=False), survival(time="5", event="x"),
        survival()[["time", "event"]],
    ],
)  # fmt: skip
def test_survival_times_that_fit_refuses_are_found(y):
    with pytest.raises(ValueError) as refusal:
        SurvivalTree().fit(NUMBER[:, None], y)
    found = [finding.what for finding in check_table(NUMBER[:, None], y, task="survival") if finding.kind == "y"]
    assert str(refusal.value) in found
    assert len(found) == 1 + (str(y.event[0]) == "x")  # both columns are wrong
    with pytest.raises(ValueError, match="y has 1 columns, or fields; allowed are"):
        check_table(NUMBER[:, None], y[["time"]], task="survival")
    with pytest.raises(ValueError, match="y has 9 rows; allowed are 200 rows, as X has"):
        check_table(NUMBER[:, None], y[:9], task="survival")


@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_tables_have_the_findings_of_dense_ones(layout):
    for seed in range(4):
        random = np.random.default_rng(seed)
        y = random.integers(3, size=300) if seed % 2 else random.normal(size=300)
        y[10] = y[11]
        X = sparse.random(300, 40, density=0.1, random_state=seed).toarray()
        X[:, 3], X[:, 5], X[:, 7], X[:, 11] = X[:, 2], 0, np.nan, y + 5
        X[:, 13] = random.choice([0, np.nan], 300)
        X[10] = X[11]
        test = np.concatenate([X[:5], X[:5] + 1])
        found = check_table(X, y, X_test=test)
        assert {(3, "duplicate"), (5, "constant"), (7, "missing"), (11, "gives y away")} <= {finding[:2] for finding in found}
        assert check_table(layout(X), y, X_test=layout(test)) == found
    with pytest.raises(ValueError, match="X_test has other columns"):
        check_table(layout(X), X_test=X)


def test_result(tmp_path):
    X = pd.DataFrame({"number": NUMBER, "town": TOWN, "same": 1})
    found = check_table(X, np.append(Y[:-1], 2))
    assert all(isinstance(finding, Finding) for finding in found)
    assert repr(found).splitlines() == [
        "3 findings in 200 rows and 3 columns",
        "",
        f"rare classes: {found[2].advice}",
        "  1 class of y with fewer rows than 5 folds: 2 (1)",
        "",
        "refused: name it in categorical_features, or let categorical_features=\"auto\" take all columns of",
        "    text and booleans as categories",
        "  'town'  3 different texts, such as " + repr(str(TOWN[0])),
        "",
        "constant: leave it out: no split can use it",
        "  'same'  all rows have the value 1",
    ]
    frame = pd.DataFrame(found)
    assert frame.columns.tolist() == ["column", "kind", "what", "advice"] and len(frame) == 3
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    assert repr(check_table(NUMBER[:, None])) == "0 findings in 200 rows and 1 columns"


def test_findings_of_one_kind_and_advice_are_printed_together():
    towns = {f"{'long ' * 5}town {j}": np.roll(TOWN, j) for j in range(3)}
    text = repr(check_table(pd.DataFrame(towns | {"name " * 30: [f"{'very ' * 7}{i % 3}" for i in range(N)], "later": Y}), Y))
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("name it in categorical_features") == 1
    assert text.index("gives y away") < text.index("refused")


def test_arguments():
    X = NUMBER[:, None]
    for parameters, message in [
        ({"cv": 1}, "cv=1; allowed are integers from 2"),
        ({"max_score": 0.0}, "max_score=0.0; allowed are numbers above 0 and up to 1"),
        ({"max_score": np.nan}, "max_score=nan"),
        ({"task": "ranking"}, "task='ranking'; allowed are 'classification', 'regression', 'survival' and None"),
        ({"categorical_features": ["town"]}, "categorical_features names 'town', but X has no column names"),
        ({"y": Y[:5]}, r"y has the shape \(5,\); allowed are 200 rows"),
        ({"y": np.full(N, "2020-01-01", "M8[D]")}, "y can't be read: values of type datetime64"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_table(X, **parameters)
    for table in (NUMBER, np.zeros((0, 3)), None):
        with pytest.raises(ValueError, match="X has the shape"):
            check_table(table)


def test_settings_of_the_caller_stay():
    from sklearn import get_config

    before = get_config(), np.geterr()
    check_table(NUMBER[:, None], Y)
    assert (get_config(), np.geterr()) == before


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(-(2**70), 2**70), st.floats(), st.dates(), st.datetimes(),
    st.times(), st.sampled_from(["a", "A ", "1", "$3", "", "1/2/2020", "3,5 €"]), st.just(pd.NA), st.just([1]),
    st.complex_numbers(),
)  # fmt: skip
TYPED = st.sampled_from([
    st.integers(-2, 2), st.floats(width=32), st.sampled_from("abc"), st.booleans(), st.none(), st.datetimes(), st.times(), CELLS,
    st.from_regex(r"\d{1,4}/\d{1,2}/\d{1,4}", fullmatch=True), st.from_regex(r"[€(-]?\d[\d.,' ]{0,9}\)?", fullmatch=True),
])  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), n=st.integers(1, 40), categorical=st.sampled_from(["from_dtype", "auto", None]))
@pytest.mark.filterwarnings("error")
def test_no_table_raises_an_error(data, n, categorical):
    columns = data.draw(st.lists(TYPED, min_size=1, max_size=4))
    X = pd.DataFrame({f"c{j}": pd.Series(data.draw(st.lists(cells, min_size=n, max_size=n))) for j, cells in enumerate(columns)})
    y = data.draw(st.lists(st.one_of(st.integers(0, 1), st.floats(), st.none()), min_size=n, max_size=n))
    found = check_table(X, y, X_test=X, categorical_features=categorical)
    in_both = [finding.what for finding in found if finding.kind == "rows in both parts"]
    hashable = all(not isinstance(cell, list) for cell in X.to_numpy().ravel())
    assert not hashable or in_both == [f"{n} of {n} rows of X_test are in X too"]


def test_categorical_features_that_are_no_list_of_columns():
    """A text other than "from_dtype" and "auto" passed for "from_dtype"."""
    with pytest.raises(ValueError, match="categorical_features='abc'; allowed are \"from_dtype\", \"auto\", None, and lists"):
        check_table(np.arange(20.0).reshape(10, 2), categorical_features="abc")
