"""A file of the trees that a fit has grown so far, from which the fit goes on after its process has ended.

The file is written to at its end alone. It begins with `MAGIC`; then come *records*: 8 bytes that say how long a record is, 4
bytes of its CRC-32, all little-endian, and the record itself. The first one is a header, JSON: what the trees are grown from.
Each of the others has the arrays of some trees (`dforest.core.forest.state`), a NumPy archive. A process that is killed while
it writes leaves a last record that is too short: it is dropped. No code is read from the file, and arrays are checked like those
of a pickle.
"""

import fcntl
import hashlib
import json
import os
import struct
import zlib
from importlib.metadata import version
from io import BytesIO
from numbers import Integral
from zipfile import BadZipFile

import numpy as np

from dforest.callback.base import FitRecords, is_step
from dforest.core.forest.arrays import Forest
from dforest.core.forest.state import shrink
from dforest.core.sparse_rows import parts_of
from dforest.engines.base import GrownTree
from dforest.estimators.data.agreement import comparable
from dforest.estimators.data.validation import check_number, file_path_of, path_of
from dforest.estimators.forest.growth import growth_of

MAGIC = b"dforest checkpoint 1\n"
_FRAME = struct.Struct("<QI")
_ROWS_AT_A_TIME = 1 << 16

# Parameters that may differ from those of the file's fit: trees do not depend on them.
_FREE = ("n_estimators", "n_jobs", "verbose", "device", "oob_score", "variable_importance", "voting", "ccp_alpha", "warm_start",
         "random_state", "keep_training_data")  # fmt: skip


class Checkpoint(FitRecords):
    """A callback that writes the trees of a forest to a file while they are grown, so that a later fit can go on from there.

    If a process ends before its fit does, repeat the fit with the same callback: it takes the trees from the file and grows
    only the missing ones, and the forest is that of an uninterrupted fit, to the bit. The file of a finished fit can be used
    too: a fit with a greater `n_estimators` goes on from its trees, and one with a smaller `n_estimators` takes the first of
    them.

    Parameters
    ----------
    path : str or path-like
        The file, which is made if it does not exist.
    every : int, default=10
        Number of trees, from 1 on, after which the file is written to. It is also written to when growing ends, even if the fit
        fails.

    Raises
    ------
    ValueError
        By `fit`, before any tree is grown: if the file cannot be written, or another fit is writing to it; if it is a folder, a
        device or a pipe; if it is not a checkpoint, or is damaged; if it was written by another version of dforest, or for other
        data or parameters, of which the message names one; if ``warm_start=True`` would go on with existing trees; if the
        estimator is not a forest; or if several ranks fit it, or rows are in several partitions.

    Notes
    -----
    Parameters that do not change trees may differ from those of the fit that wrote the file: `n_estimators`, `n_jobs`, `device`,
    `verbose`, `oob_score`, `variable_importance`, `voting`, `keep_training_data` and `ccp_alpha`. If `random_state` is not an
    integer, the seed is taken from the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import Checkpoint
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.checkpoint")
    ...     forest = RandomForestClassifier(30, random_state=0).set_callbacks(Checkpoint(path)).fit(X, y)
    ...     longer = RandomForestClassifier(50, random_state=0).set_callbacks(Checkpoint(path)).fit(X, y)  # grows 20 trees
    >>> longer.n_estimators_
    50
    """

    needs = ("checkpoint",)

    def __init__(self, path, every=10):
        super().__init__()
        path_of(path)
        check_number("every", every, Integral, "integers from 1", lambda n: n >= 1)
        self.path = path
        self.every = every

    def open(self, estimator, context):
        growth = growth_of(estimator, self)
        if growth.n_before:
            raise ValueError(
                f"warm_start=True goes on with {growth.n_before} trees, which may have been grown on other data than those of "
                f"the checkpoint {os.fspath(self.path)!r}; allowed is warm_start=False, with which a fit continues its checkpoint"
            )
        return _Writer(_File(self.path), growth)

    def on_growth_begin(self, estimator):
        """The trees of the file that belong to the fit, as a `Forest`; None if there is none."""
        return self.record(estimator).resume()

    def on_fit_task_end(self, estimator, context):
        writer = self.record(estimator)
        if is_step(context) and len(writer.trees) >= self.every:
            writer.write()

    def teardown(self, estimator, context):
        if id(estimator) in self._records:
            self.record(estimator).close()
        super().teardown(estimator, context)


class _Writer:
    """Writes the trees of a fit; it owns the file until `close`."""

    def __init__(self, file, growth):
        self._file, self._growth = file, growth
        self.trees = growth.keep_trees()

    def resume(self):
        header, growth = _header(self._growth), self._growth
        found, records = self._file.read()
        if found is None:
            self._file.append(json.dumps(header).encode())
            return None
        self._compare(found, header)
        growth.reseed(found["seed"])
        trees = []
        for record in records:
            try:
                trees += self._trees_of(record, len(trees))
            except (ValueError, TypeError, KeyError, OSError, BadZipFile) as error:
                raise ValueError(f"the checkpoint {self._file.path!r} is damaged: {error}; delete the file") from error
        trees = trees[: growth.n_wanted]
        return growth.forest_of(trees) if trees else None

    def _compare(self, found, header):
        """Raise ValueError if the file is that of another fit."""

        def refuse(what, there, here):
            raise ValueError(
                f"the checkpoint {self._file.path!r} was written with {what}={there!r}, and this fit has {what}={here!r}; "
                "allowed is the value in the checkpoint, or another path"
            )

        if found["version"] != header["version"]:
            refuse("dforest.__version__", found["version"], header["version"])
        if found["estimator"] != header["estimator"]:
            refuse("estimator", found["estimator"], header["estimator"])
        for name in sorted({*found["parameters"], *header["parameters"]}):
            there, here = found["parameters"].get(name), header["parameters"].get(name)
            if there != here:
                refuse(name, there, here)
        if isinstance(self._growth.estimator.random_state, Integral) and found["seed"] != header["seed"]:
            random_state = self._growth.estimator.random_state
            raise ValueError(
                f"random_state={random_state} means another seed than that of the checkpoint {self._file.path!r}; allowed is "
                "the number with which the checkpoint was begun, None, or another path"
            )
        for name in ("X", "y", "sample_weight"):
            if found["data"][name] != header["data"][name]:
                raise ValueError(
                    f"the checkpoint {self._file.path!r} was written for another {name} than that of this fit; allowed are the "
                    "data of the checkpoint, or another path"
                )

    def _trees_of(self, record, n_before):
        """The trees of a record, which come after some others: list of GrownTree."""
        problem = self._growth.problem
        with np.load(BytesIO(record), allow_pickle=False) as archive:
            arrays = dict(archive)
        units, first = arrays.pop("weight_unit"), int(arrays.pop("first"))
        if first != n_before:
            raise ValueError(f"trees from {first} on follow {n_before} trees")
        n = len(units)
        state = {
            **self._growth.settings,
            "arrays": arrays,
            "n_features": problem.n_features,
            "objective": problem.objective,
            "seed": problem.seed,
            "seeds": problem.seeds_of(range(first, first + n)),
            "plans": (problem.sampling,) * n,
            "n_rows": np.full(n, problem.n_rows, np.int64),
            "weight_unit": units,
        }
        forest = Forest.__new__(Forest)
        forest.__setstate__(state)
        tree_of = forest.tree_reader()
        return [GrownTree(first + t, tree_of(t), float(units[t])) for t in range(n)]

    def write(self):
        """Write the trees that have come."""
        if self.trees:
            trees = self.trees[:]
            forest = self._growth.forest_of(trees)
            arrays = {**shrink(forest.as_dict()), "first": trees[0].number, "weight_unit": forest.weight_unit}
            record = BytesIO()
            np.savez(record, **arrays)
            self._file.append(record.getvalue())
            del self.trees[: len(trees)]

    def close(self):
        try:
            self.write()
        finally:
            self._file.close()


class _File:
    """The file of a checkpoint, locked against other fits; opened for reading, and for writing at its end."""

    def __init__(self, path):
        self.path = file_path_of(path)
        try:
            self._file = open(self.path, "a+b")
        except OSError as error:
            raise ValueError(f"path={self.path!r} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise ValueError(f"path={self.path!r} is being written by another fit; allowed is one fit at a time") from error

    def read(self):
        """(the header, or None if there is none; the records that follow). Whatever is incomplete at the end is cut off."""
        self._file.seek(0)
        whole = self._file.read()
        if not whole.startswith(MAGIC):
            if not MAGIC.startswith(whole):
                raise ValueError(f"path={self.path!r} is not a checkpoint of this version of dforest; allowed is another path")
            self._cut(0)
            self._file.write(MAGIC)
            return None, []
        records, end = [], len(MAGIC)
        while end + _FRAME.size <= len(whole):
            length, crc = _FRAME.unpack_from(whole, end)
            begin = end + _FRAME.size
            if begin + length > len(whole):
                break
            record = whole[begin : begin + length]
            if zlib.crc32(record) != crc:
                raise ValueError(f"the checkpoint {self.path!r} is damaged at byte {begin}; delete the file")
            records.append(record)
            end = begin + length
        self._cut(end)
        if not records:
            return None, []
        try:
            return json.loads(records[0]), records[1:]
        except ValueError as error:
            raise ValueError(f"the checkpoint {self.path!r} is damaged: {error}; delete the file") from error

    def append(self, record):
        """Write a record, and wait until the system has it safe."""
        self._file.write(_FRAME.pack(len(record), zlib.crc32(record)) + record)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _cut(self, end):
        self._file.truncate(end)
        self._file.seek(end)

    def close(self):
        """Close the file; one that nothing was written to is removed."""
        is_empty = os.fstat(self._file.fileno()).st_size == 0
        if is_empty:
            os.unlink(self.path)
        self._file.close()


def _header(growth):
    """What the trees of a fit are grown from: a dict of what JSON has."""
    estimator, rows = growth.estimator, growth.rows
    parameters = estimator.get_params(deep=False)
    return {
        "version": version("dforest"),
        "estimator": type(estimator).__name__,
        "parameters": {name: comparable(value) for name, value in sorted(parameters.items()) if name not in _FREE},
        "seed": growth.problem.seed,
        "data": {
            "X": _digest(*parts_of(rows.parts[0]), estimator.is_categorical_, estimator.is_ordinal_),
            "y": _digest(rows.y),
            "sample_weight": None if rows.sample_weight is None else _digest(rows.sample_weight),
        },
    }


def _digest(*arrays):
    """A digest of the shapes, types and bytes of arrays: str."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        for first in range(0, len(array), _ROWS_AT_A_TIME):
            digest.update(np.ascontiguousarray(array[first : first + _ROWS_AT_A_TIME]))
    return digest.hexdigest()
