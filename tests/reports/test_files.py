"""Faults of model files, as users would report them."""

import os
from datetime import date

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, fbeta_score, get_scorer, make_scorer

import dforest

X, Y = load_iris(return_X_y=True)


def test_a_pipe_or_device_is_not_replaced_by_a_model_file(tmp_path):
    """`save` onto a named pipe, or onto a device such as /dev/null, removed it and put a regular file in its place."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a device, a pipe or a socket; allowed are regular files"):
        dforest.DecisionTreeClassifier().fit(X, Y).save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_model_with_a_metric_of_scikit_learn_is_loaded_in_another_process(tmp_path):
    """A forest with `oob_score=average_precision_score` was saved, but `load` refused the file in another process, and one with
    `oob_score=get_scorer(...)` was not saved at all."""
    for score in (average_precision_score, get_scorer("average_precision")):
        forest = dforest.RandomForestClassifier(30, oob_score=score, random_state=0).fit(X, Y > 0)
        forest.save(tmp_path / "model")
        again = dforest.load(tmp_path / "model")
        assert repr(again.oob_score) == repr(score) and again.fit(X, Y > 0).oob_score_ == forest.oob_score_


def test_a_scorer_without_a_name_is_refused_with_what_to_do(tmp_path):
    """`save` refused a scorer of `make_scorer` with words about splitters and criteria, which did not help."""
    scorer = make_scorer(fbeta_score, beta=2, average="macro")
    model = dforest.HistGradientBoostingClassifier(max_iter=3, scoring=scorer).fit(X, Y)
    with pytest.raises(ValueError, match=r"scoring=make_scorer\(.*allowed are scorers that .* by name.*or call set_params"):
        model.save(tmp_path / "model")
    model.set_params(scoring="f1_macro").save(tmp_path / "model")
    assert dforest.load(tmp_path / "model").scoring == "f1_macro"


def test_categories_that_are_intervals_times_or_days_are_saved(tmp_path):
    """`save` refused a column of `pd.cut`, of timestamps, or of days, although `fit` takes them."""
    for labels in (
        [pd.Interval(0.0, 1.5), pd.Interval(1.5, 3.0)],
        [pd.Timestamp("2031-01-30 12:00", tz="UTC"), pd.Timestamp("2031-01-31", tz="UTC")],
        [pd.Timedelta("1D"), pd.Timedelta("3h")],
        [date(2031, 1, 30), date(2031, 1, 31)],
    ):
        frame = pd.DataFrame({"a": pd.Series([labels[i] for i in (0, 1) * 10], dtype="category")})
        tree = dforest.DecisionTreeClassifier().fit(frame, [0, 1] * 10)
        tree.save(tmp_path / "model")
        again = dforest.load(tmp_path / "model")
        assert again.predict(frame).tolist() == [0, 1] * 10 and again.categories_[0].tolist() == sorted(labels)
