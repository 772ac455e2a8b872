"""Frames and other containers of rows."""

import numpy as np
import pandas as pd
import pytest

from dforest import DecisionTreeClassifier, RandomForestRegressor
from dforest.config import config_context
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.data.agreement import Partition
from dforest.spmd.threads import ThreadGroup


def test_a_frame_over_unaligned_memory_can_be_predicted():
    """`predict` of a frame over a message or a mapped file, whose numbers begin at an odd address, raised an error about the type
    '=d', and so did all other methods, predictors, and fits with out-of-bag estimates."""
    X = np.zeros(6 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(6, 1)
    X[:, 0] = [0, 1, 2, 3, 4, 5]
    forest = RandomForestRegressor(1, bootstrap=False).fit(pd.DataFrame(X, copy=False), X[:, 0] * 10)
    assert forest.predict(pd.DataFrame(X, copy=False)).tolist() == [0, 10, 20, 30, 40, 50]
    assert forest.predictor().predict(X).tolist() == [0, 10, 20, 30, 40, 50]


def test_class_weight_may_name_a_class_that_a_fold_lacks():
    """With TimeSeriesSplit, whose first folds may lack a class, ``class_weight={"a": 1, "b": 2, "c": 5}`` was refused."""
    X, y = np.array([[0.0], [0.0], [0.0]]), ["a", "b", "b"]
    model = DecisionTreeClassifier(class_weight={"a": 1, "b": 2, "c": 5}).fit(X, y)
    assert model.predict_proba(X[:1]).tolist() == [[1 / 5, 4 / 5]]
    with pytest.raises(ValueError, match="class_weight names the class 'B', but not 'b'"):
        DecisionTreeClassifier(class_weight={"a": 1, "B": 2}).fit(X, y)


def test_a_column_that_was_all_missing_is_named_when_labels_come():
    """A warning about labels that training lacked ended in "the training data had ", with nothing after it."""
    train = pd.DataFrame({"city": pd.Categorical([None, None, None]), "n": [0.0, 1.0, 2.0]})
    model = DecisionTreeClassifier().fit(train, [0, 1, 1])
    with pytest.warns(UnseenLabelsWarning, match="the training data had none$"):
        assert model.predict(pd.DataFrame({"city": pd.Categorical(["Bern"]), "n": [0.0]})).tolist() == [0]


@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_partition_may_have_no_value_where_others_have_categories(missing):
    """A partition whose column was all missing, hence of a float dtype, was refused where others had categories."""
    table = pd.DataFrame({"city": pd.Categorical(["Bern", "Oslo", "Rome", None, None]), "n": np.arange(5.0)})
    y = np.array([0, 1, 0, 1, 1])
    empty = pd.DataFrame({"city": [missing, missing], "n": [3.0, 4.0]})
    parts = [Partition(0, table[:3], y[:3]), Partition(1, empty, y[3:])]
    expected = DecisionTreeClassifier(random_state=0).fit(table, y)
    for partitions in (parts, [parts[0], parts[1]._replace(place=-1)]):  # the empty one comes first, too
        model = DecisionTreeClassifier(random_state=0)._fit_partitions(lambda rank, given=partitions: given)
        assert model.categories_[0].tolist() == ["Bern", "Oslo", "Rome"]
        assert model.predict(table).tolist() == expected.predict(table).tolist() == y.tolist()


def test_a_frame_of_sparse_columns_is_a_frame():
    """Frames from ``get_dummies(..., sparse=True)`` were refused, with the advice to call `toarray`, which frames lack."""
    dense = pd.get_dummies(pd.Series(["a", "b", "c", "b"]))
    sparse = pd.get_dummies(pd.Series(["a", "b", "c", "b"]), sparse=True)
    model = DecisionTreeClassifier().fit(sparse, [0, 1, 2, 1])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.predict(sparse).tolist() == model.predict(dense).tolist() == [0, 1, 2, 1]


def test_several_outputs_where_a_rank_has_no_rows():
    """A fit to several outputs by several processes, of which one has no rows, said "Found array with 0 sample(s)"."""
    X, y = np.arange(6.0).reshape(-1, 1), np.arange(12.0).reshape(-1, 2)
    alone = RandomForestRegressor(1, random_state=0).fit(X, y)

    def fit(communicator):
        own = [slice(0, 3), slice(3, 3), slice(3, 6)][communicator.rank]
        with config_context(communicator=communicator):
            return RandomForestRegressor(1, random_state=0).fit(X[own], y[own]).predict(X).tolist()

    assert ThreadGroup(3).run(fit) == [alone.predict(X).tolist()] * 3
