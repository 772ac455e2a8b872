"""Faults of model files, as users would report them."""

import os

import pytest
from sklearn.datasets import load_iris

import dforest

X, Y = load_iris(return_X_y=True)


def test_a_pipe_or_device_is_not_replaced_by_a_model_file(tmp_path):
    """`save` onto a named pipe, or onto a device such as /dev/null, removed it and put a regular file in its place."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a device, a pipe or a socket; allowed are regular files"):
        dforest.DecisionTreeClassifier().fit(X, Y).save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
