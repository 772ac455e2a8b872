"""Frames and other containers of rows."""

import numpy as np
import pandas as pd
import pytest

from dforest import DecisionTreeClassifier, RandomForestRegressor
from dforest.config import config_context
from dforest.estimators.data.agreement import Partition
from dforest.spmd.threads import ThreadGroup


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


def test_several_outputs_where_a_rank_has_no_rows():
    """A fit to several outputs by several processes, of which one has no rows, said "Found array with 0 sample(s)"."""
    X, y = np.arange(6.0).reshape(-1, 1), np.arange(12.0).reshape(-1, 2)
    alone = RandomForestRegressor(1, random_state=0).fit(X, y)

    def fit(communicator):
        own = [slice(0, 3), slice(3, 3), slice(3, 6)][communicator.rank]
        with config_context(communicator=communicator):
            return RandomForestRegressor(1, random_state=0).fit(X[own], y[own]).predict(X).tolist()

    assert ThreadGroup(3).run(fit) == [alone.predict(X).tolist()] * 3
