"""Values of parameters and columns come back from JSON as what they were, or are refused before anything is written."""

import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import fbeta_score, get_scorer, get_scorer_names, make_scorer, roc_auc_score

import dforest
from dforest import criterion, loss, splitter
from dforest.core.component import Component
from dforest.core.objective import OBJECTIVES
from dforest.core.search.criteria import CRITERIA
from dforest.errors import ModelFileError
from dforest.interchange.storage.values import BUILT_IN, RECORDS, ValueReader, class_of, is_among
from dforest.interchange.storage.writer import ValueWriter

X, Y = load_iris(return_X_y=True)


def comes_back(value):
    writer = ValueWriter()
    return ValueReader(writer.arrays.__getitem__, ()).read(writer.write(value, "value"))


def test_every_named_scorer():
    for name in get_scorer_names():
        again = comes_back(get_scorer(name))
        assert repr(again) == repr(get_scorer(name)) and vars(again) == vars(get_scorer(name)), name


def own_accuracy(true, predicted):
    return float(np.mean(true == predicted))


def test_scorers_without_names(tmp_path):
    """They are refused at once, and the message says what to do; a metric of one's own that only has such a name is one's own."""
    model = dforest.RandomForestClassifier(30, oob_score=make_scorer(fbeta_score, beta=2, average="macro"), random_state=0)
    model.fit(X, Y)
    message = r"oob_score=make_scorer\(fbeta_score.* can't be written .* knows by name, metrics of sklearn.metrics and functools"
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model")
    for own in (own_accuracy, make_scorer(own_accuracy)):
        own_accuracy.__qualname__ = own_accuracy.__name__ = "accuracy_score"
        try:
            model.set_params(oob_score=own)
            if own is own_accuracy:
                model.save(tmp_path / "model")
                with pytest.raises(ModelFileError, match="it needs 'accuracy_score', which is not part of dforest"):
                    dforest.load(tmp_path / "model")
                assert dforest.load(tmp_path / "model", components=[own]).oob_score is own
            else:
                with pytest.raises(ValueError, match="oob_score=make_scorer.* can't be written"):
                    model.save(tmp_path / "model")
        finally:
            own_accuracy.__qualname__ = own_accuracy.__name__ = "own_accuracy"
    labelled = partial(roc_auc_score, labels=np.array([0, 1]), multi_class="ovr")
    again = comes_back(labelled)
    assert again.func is roc_auc_score and again.args == () and again.keywords["labels"].tolist() == [0, 1]


SPANS = pd.Series(pd.date_range("2020-01-01", periods=150, unit="s"))
ZONED = pd.DatetimeIndex(["2020-01-01", "2021-06-01", "2022-03-03"])
LABELS = {
    "intervals": pd.cut(X[:, 0], 5).categories,
    "intervals that are closed to the left": pd.cut(X[:, 0], [4, 5, 6, 9], right=False).categories,
    "intervals of integers": pd.interval_range(0, 3), "intervals of times": pd.cut(SPANS, 3).cat.categories,
    "times": pd.DatetimeIndex(["1960-01-01T01:02:03.123456789", "2020-01-01"]), "times in seconds": SPANS[:3],
    "times in a zone": ZONED.tz_localize("Europe/Berlin"), "times in UTC": ZONED.tz_localize("UTC"),
    "times at an offset": ZONED.tz_localize(datetime.timezone(datetime.timedelta(hours=2))),
    "differences": pd.TimedeltaIndex(["1D", "2h", "3ns"]), "months": pd.period_range("2020-01", periods=3, freq="M"),
    "quarters": pd.period_range("2020-01", periods=3, freq="Q-NOV"), "days": [datetime.date(2020, 1, day) for day in (1, 2)],
    "hours": [datetime.time(1, 2, 3, 4), datetime.time(5)], "differences of Python": [datetime.timedelta(-1, 2, 3)],
    "times of Python": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1, 2, 3, 4, 5)],
    "times of Python in a zone": [datetime.datetime(2020, 1, day, tzinfo=ZoneInfo("Europe/Paris")) for day in (1, 2)],
    "decimals": [Decimal("1.10"), Decimal("3e5")], "fractions": [Fraction(1, 3), Fraction(7, 2)],
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_categories(name, tmp_path):
    """They have their types and values again, and are found in X."""
    given = list(LABELS[name])
    given = [*given, *given][: max(2, len(given))]
    frame = pd.DataFrame({"a": X[:, 1], "b": pd.Series([given[i % len(given)] for i in Y], dtype="category")})
    model = dforest.RandomForestClassifier(5, random_state=0).fit(frame, Y)
    model.save(tmp_path / "model.safetensors")
    again = dforest.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    found, expected = ([(label, type(label), str(label)) for label in one.categories_[1].tolist()] for one in (again, model))
    assert found == expected


@settings(max_examples=examples(200), deadline=None)
@given(
    st.one_of(
        st.decimals(allow_nan=False), st.fractions(), st.dates(), st.times(), st.timedeltas(), st.datetimes(),
        st.datetimes(timezones=st.timezones()),
        st.builds(pd.Timestamp, st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))),
        st.builds(pd.Timedelta, st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
        st.builds(lambda a, b: pd.Interval(min(a, b), max(a, b), "both"), st.integers(), st.integers()),
        st.builds(lambda a, b: pd.Interval(min(a, b), max(a, b)), st.floats(allow_nan=False), st.floats(allow_nan=False)),
    )
)  # fmt: skip
def test_any_label(label):
    """It is equal to that which was written, and has its hash; or it is refused, as a time that a zone skips."""
    try:
        again = comes_back(label)
    except ValueError as error:
        assert "can't be written" in str(error) and label.utcoffset() is not None
        return
    assert again == label and hash(again) == hash(label) and type(again) is type(label)


def test_labels_that_are_refused():
    """A time in a zone that is no name, and a class of one's own with the name of another one."""
    for label in (pd.Timestamp("2020-01-01", tz="dateutil/Europe/Berlin"), type("Interval", (), {})(), type("Decimal", (), {})()):
        with pytest.raises(ValueError, match="can't be written to a model file; allowed are numbers, texts, dates and times"):
            comes_back(label)


def test_all_classes_are_where_the_tables_say():
    for homes in (RECORDS, BUILT_IN):
        assert all(class_of(name, homes).__module__ == home for name, home in homes.items())
    assert all(is_among(cls, RECORDS) for cls in OBJECTIVES)
    public = {getattr(module, name) for module in (criterion, loss, splitter) for name in module.__all__}
    known = {*CRITERIA.values(), *public}
    assert all(is_among(cls, BUILT_IN) for cls in known if isinstance(cls, type) and issubclass(cls, Component))
