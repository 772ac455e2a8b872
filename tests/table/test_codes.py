"""What `check_table` finds in text that looks like numbers or dates and is neither, and in columns of many labels."""

import numpy as np
import pandas as pd
import pytest

import dforest
from dforest import check_table


def of_column(frame, y, **options):
    """What is found in the column "x" beside that it gives y away."""
    return [found for found in check_table(frame, y, **options) if found.column == "x" and found.kind != "gives y away"]


CODED = {
    "IP addresses": ("10.{}.0.{}", "keep the network as a category"),
    "phone numbers": ("+49 351 {:03d}{:03d}", "they are names and no amounts"),
    "versions": ("{}.0.{}", r"make a column of each part: column.str.extract(r'(\d+)\.(\d+)')"),
    "pairs of numbers": ("{}.5, {}.25", "make a column of each part: column.str.split"),
}


@pytest.mark.parametrize("kind", CODED)
def test_text_that_is_neither_numbers_nor_dates(kind):
    form, advice = CODED[kind]
    x = np.random.default_rng(0).integers(0, 200, (400, 2))
    column = pd.Series([form.format(*row) for row in x.tolist()])
    (found,) = of_column(pd.DataFrame({"x": column, "z": x[:, 0] + 0.5}), x[:, 1] % 2)
    assert found.what == f"text of {kind}, such as {column[0]!r}" and advice in found.advice
    (found,) = of_column(pd.DataFrame({"x": column, "z": x[:, 0] + 0.5}), x[:, 1] % 2, categorical_features="auto")
    assert found.kind == "many labels" and found.what.startswith(f"{kind} make") and advice in found.advice
    with pytest.raises(ValueError, match=f"holds text of {kind}, such as"):
        dforest.RandomForestClassifier(2).fit(pd.DataFrame({"x": column}), x[:, 1] % 2)


@pytest.mark.parametrize("form", ["%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y"])
def test_dates_are_no_phone_numbers_nor_versions(form):
    days = pd.Series(pd.date_range("2020-01-01", periods=9, freq="32D").strftime(form))[np.arange(90) % 9]
    (found,) = of_column(pd.DataFrame({"x": days.array}), np.arange(90) % 2)
    assert found.what.startswith("text of dates")


@pytest.mark.parametrize("is_object", [False, True])
def test_values_beyond_a_limit_are_not_made_missing(is_object):
    rng = np.random.default_rng(0)
    numbers = rng.integers(5, 60, 300)
    column = pd.Series([number if is_object else str(number) for number in numbers.tolist()], dtype=object)
    column[rng.random(300) < 0.2] = "<5"
    (found,) = of_column(pd.DataFrame({"x": column}), numbers)
    assert found.what == "text of values beyond a limit, such as '<5'" and found.advice.startswith("take the limit, or a half of")
    made = pd.to_numeric(column.astype(str).str.strip("<>=≤≥ "))
    assert made.dtype.kind in "if" and made.min() == 5
    groups = pd.Series(rng.choice(["<18", ">=65"], 300))  # which are no values beyond a limit, but names
    (found,) = of_column(pd.DataFrame({"x": groups}), numbers)
    assert "name it in categorical_features" in found.advice


def test_digits_with_leading_zeros_are_codes():
    rng = np.random.default_rng(0)
    column = pd.Series([f"{number:05d}" for number in rng.integers(1067, 9999, 300).tolist()])
    for categorical in ("from_dtype", "auto"):
        (found,) = of_column(pd.DataFrame({"x": column}), rng.normal(size=300), categorical_features=categorical)
        assert "codes and no amounts, as leading zeros say, such as postcodes" in found.advice
    dates = pd.Series([f"{1 + k % 28:02d}.{1 + k % 12:02d}.2012" for k in range(300)])
    (found,) = of_column(pd.DataFrame({"x": dates}), rng.normal(size=300))
    assert found.what.startswith("text of dates")


def test_many_labels_of_few_rows():
    rng = np.random.default_rng(0)
    labels = pd.DataFrame({"x": pd.Categorical(rng.integers(0, 2855, 12000))})
    (found,) = of_column(labels, rng.normal(size=12000))
    assert found.kind == "many labels" and "different labels, each in 4 rows on average" in found.what
    assert found.advice.startswith("see by cross-validation whether the model is better without it")
    assert not of_column(pd.DataFrame({"x": pd.Categorical(np.arange(12000) % 300)}), rng.normal(size=12000))
