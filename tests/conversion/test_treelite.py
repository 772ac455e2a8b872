"""Models of treelite predict the same in treelite, and clear errors say what they can't have."""

from itertools import chain

import numpy as np
import pytest
import treelite
from helpers.conversion import data_of, held_rows, model_of_quantiles, models, models_of_several_outputs
from sklearn.base import is_classifier

import dforest
from dforest.errors import ConversionError
from dforest.estimators.data.tables import read_table
from dforest.interchange.conversion import treelite as conversion
from dforest.interchange.conversion.links import link_of, rounding
from dforest.interchange.conversion.probes import within_leaves


def side_by_side(found, estimator):
    """The predictions for several outputs, without those for classes that an output does not have."""
    counts = [own.stop - own.start for own in estimator.forest_.objective.outputs]
    if len(counts) == 1:
        return found
    assert found.shape == (len(found), len(counts), max(counts))
    assert not any(found[:, output, n:].any() for output, n in enumerate(counts))
    return np.hstack([found[:, output, :n] for output, n in enumerate(counts)])


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_predictions(dtype, categories, tmp_path):
    """To the bit, unless there is a baseline, which treelite adds up first, or an exponential."""
    for name, estimator in chain(models(dtype, categories), models_of_several_outputs(dtype, categories)):
        model = estimator.to_treelite()
        rows = held_rows(estimator, conversion.labels_of(estimator))
        leaves = estimator.forest_.packed().apply(estimator._features.encode(read_table(rows)), 1)
        assert np.array_equal(treelite.gtil.predict_leaf(model, rows), leaves), name
        link, found = link_of(estimator), treelite.gtil.predict(model, rows)
        expected = estimator.predict_proba(rows) if is_classifier(estimator) else estimator.predict(rows)
        expected = np.hstack(expected) if isinstance(expected, list) else expected
        expected = expected[:, 1] if link in ("logistic", "logistic_of_twice") else expected
        found = side_by_side(found, estimator).reshape(expected.shape)
        if link is None:
            found = within_leaves(estimator.forest_, found)
            assert found.tobytes() == expected.tobytes(), name
        else:
            assert (np.abs(found - expected) <= rounding(expected, np.float32 if link == "softmax" else np.float64)).all(), name
        path = tmp_path / "model.bin"
        model.serialize(path)
        again = side_by_side(treelite.gtil.predict(treelite.Model.deserialize(path), rows), estimator).reshape(expected.shape)
        assert within_leaves(estimator.forest_, again).tobytes() == found.tobytes(), name
        assert treelite.Model.deserialize_bytes(model.serialize_bytes()).dump_as_json() == model.dump_as_json()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("threshold", lambda array: np.nextafter(array, -np.inf)),
        ("split_index", lambda array: np.where(array < 0, array, (array + 1) % 6).astype(np.int32)),
        ("default_left", lambda array: 1 - array),
        ("leaf_value", lambda array: np.nextafter(array, np.inf)),
    ],
)
def test_wrong_numbers_are_found(field, change, monkeypatch):
    X, z = data_of()
    tree = dforest.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, z)
    right = conversion._fields
    monkeypatch.setattr(conversion, "_fields", lambda *args: (fields := right(*args)) | {field: change(fields[field])})
    with pytest.raises(ConversionError, match=r"the model of treelite and the estimator predict differently for \d+ of \d+ rows"):
        tree.to_treelite()
    tree.to_treelite(verify=False)


def test_what_it_cannot_have(monkeypatch):
    X, z = data_of(categories=True)
    for label in (-3.0, 0.5):
        rows = X.copy()
        rows[rows[:, 0] == 3, 0] = label
        forest = dforest.RandomForestRegressor(2, categorical_features=[0], random_state=0).fit(rows, z)
        with pytest.raises(ValueError, match=rf"column 0 holds the category {label}; allowed in a model of treelite are"):
            forest.to_treelite()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    monkeypatch.setitem(__import__("sys").modules, "treelite.model_builder", None)
    with pytest.raises(ImportError, match="to_treelite needs treelite; install it with: pip install 'treelite"):
        forest.to_treelite()


def test_quantiles_that_are_put_in_order():
    with pytest.raises(ValueError, match="predicts 3 quantiles, which are put in ascending order, and treelite puts nothing in"):
        model_of_quantiles().to_treelite()
