"""A file of the trees that a fit has grown so far, from which the fit goes on after its process has ended.

The file is written to at its end alone. It begins with `MAGIC`; then come *records*: 8 bytes that say how long a record is, 4
bytes of its CRC-32, all little-endian, and the record itself. The first one is a header, JSON: what the trees are grown from.
Each of the others has the arrays of some trees (`dforest.core.forest.state`), a NumPy archive. A process that is killed while
it writes leaves a last record that is too short: it is dropped. No code is read from the file, and arrays are checked like those
of a pickle.
"""

import fcntl
import json
import os
import struct
import zlib
from importlib.metadata import version
from io import BytesIO
from numbers import Integral

import numpy as np

from dforest.callback.base import FitRecords, is_step
from dforest.core.forest.arrays import Forest
from dforest.core.forest.state import shrink
from dforest.engines.base import GrownTree
from dforest.estimators.data.agreement import comparable
from dforest.estimators.data.given import check_number, file_path_of, path_of
from dforest.estimators.growth import growth_of
from dforest.estimators.subclasses import every_parameter

MAGIC = b"dforest checkpoint 3\n"
FRAME = struct.Struct("<QI")
_HEADER = {"version": str, "estimator": str, "parameters": dict, "seeds": list, "data": dict}


class Checkpoint(FitRecords):
    """A callback that writes the trees of a forest, or of boosted trees, to a file, so that a later fit can go on from there.

    If a process ends before its fit does, repeat the fit with the same callback: it takes the trees from the file and grows
    only the missing ones, and the model is that of an uninterrupted fit, to the bit. The file of a finished fit can be used
    too: a fit with a greater `n_estimators` or `max_iter` goes on from its trees, and one with a smaller number takes the first
    of them. Early stopping scores the iterations in the file anew, and ends the fit where it would have ended.

    If several ranks fit together, the first rank that has this callback writes the file, and all ranks get the trees from it.
    However the rows are divided, the file is the same, so that a later fit may have another number of ranks.

    Parameters
    ----------
    path : str or path-like
        The file, which is made if it does not exist. Of several ranks, that of the first one counts that has this callback.
    every : int, default=10
        Number of trees or iterations, from 1 on, after which the file is written to. It is also written to when growing ends,
        even if the fit fails.

    Raises
    ------
    ValueError
        By `fit`, before any tree is grown: if the file cannot be written, or another fit is writing to it; if it is a folder, a
        device or a pipe; if it is not a checkpoint, or is damaged; if it was written by another version of dforest, or for other
        data or parameters, of which the message names one; if ``warm_start=True`` would go on with existing trees; or if the
        estimator is none of dforest's forests or boosted trees.

    Notes
    -----
    Parameters that do not change trees may differ from those of the fit that wrote the file: `n_jobs`, `device` and `verbose`;
    of forests also `n_estimators`, `oob_score`, `calibration`, `variable_importance`, `voting`, `keep_training_data` and
    `ccp_alpha`; of boosted trees also `max_iter`, `scoring`, `tol`, `n_iter_no_change` and `use_best_model`. With `refit` or
    `validation_folds`, the file has the trees that are grown on all rows, and the search for their number, which comes before, is
    repeated. If `random_state` is not an integer, the seed is taken from the file. X may be sparse in one fit and dense in the
    other.

    Objects of yours, such as a loss or a criterion, are compared by their ``repr``, or by the names of their classes if these
    define none: whether their code is the same is not known. With a loss whose derivatives of a row depend on other things than
    this row, such as the number of calls, the model may differ from that of an uninterrupted fit.

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
        every = check_number("every", every, Integral, "integers from 1", lambda n: n >= 1)
        self.path = path
        self.every = every

    def open(self, estimator, context):
        growth = growth_of(estimator, self)
        if growth.n_before:
            raise ValueError(
                f"warm_start=True goes on with {growth.n_before} trees, which may have been grown on other data than those of "
                f"the checkpoint {os.fspath(self.path)!r}; allowed is warm_start=False, with which a fit continues its checkpoint"
            )
        return _Writer(_File(self.path), growth) if growth.is_first_with("checkpoint") else None

    def seeds_of_growth(self, estimator):
        """The seeds in the file; None if it has none."""
        writer = self.record(estimator)
        return None if writer is None else writer.seeds()

    def on_growth_begin(self, estimator):
        """The trees of the file that belong to the fit, as a `Forest`; None if there is none."""
        writer = self.record(estimator)
        return None if writer is None else writer.resume()

    def on_fit_task_end(self, estimator, context):
        writer = self.record(estimator)
        if is_step(context) and writer is not None and writer.n_steps >= self.every:
            writer.write()

    def teardown(self, estimator, context):
        if self._records.get(id(estimator)) is not None:
            self.record(estimator).close()
        super().teardown(estimator, context)


class _Writer:
    """Writes the trees of a fit; it owns the file until `close`."""

    def __init__(self, file, growth):
        self._file, self._growth = file, growth
        self._trees = growth.keep_trees()
        try:
            self._found, self._records = file.read()
        except BaseException:
            file.close()
            raise

    @property
    def n_steps(self):
        """Steps whose trees have come and are not written yet."""
        return len(self._trees) // self._growth.n_together

    def seeds(self):
        """The seeds in the file, which is compared with the fit; None if it has none."""
        if self._found is None:
            return None
        self._compare(self._found, _header_of_fit(self._growth))
        if len(self._found["seeds"]) != len(self._growth.seeds):
            raise self._file.damaged(f"its header has {len(self._found['seeds'])} seeds, in place of {len(self._growth.seeds)}")
        if isinstance(self._growth.estimator.random_state, Integral) and self._found["seeds"] != self._growth.seeds:
            random_state = self._growth.estimator.random_state
            raise ValueError(
                f"random_state={random_state} means another seed than that of the checkpoint {self._file.path!r}; allowed is "
                "the number with which the checkpoint was begun, None, or another path"
            )
        return self._found["seeds"]

    def resume(self):
        """The trees in the file, as a `Forest`, or None; a file without any is begun."""
        growth, data = self._growth, _header_of_data(self._growth)
        if self._found is None:
            header = {**_header_of_fit(growth), "seeds": growth.seeds, "data": data}
            self._file.append(json.dumps(header).encode())
            return None
        for name in data:
            if self._found["data"].get(name) != data[name]:
                raise ValueError(
                    f"the checkpoint {self._file.path!r} was written for another {name} than that of this fit; allowed are the "
                    "data of the checkpoint, or another path"
                )
        trees, records, self._records = [], self._records, None
        for record in records:
            try:
                trees += self._trees_of(record, len(trees))
            except Exception as error:  # of many kinds, as of archives, arrays and trees
                raise self._file.damaged(error) from error
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

    def _trees_of(self, record, n_before):
        """The trees of a record, which come after some others: list of GrownTree."""
        problem = self._growth.problem
        with np.load(BytesIO(record), allow_pickle=False) as archive:
            arrays = dict(archive)
        units, first = arrays.pop("weight_unit"), int(arrays.pop("first"))
        n = len(units)
        if first != n_before or n % self._growth.n_together:
            raise ValueError(f"{n} trees from {first} on follow {n_before} trees")
        state = {
            **self._growth.settings,
            "arrays": arrays,
            "n_features": problem.n_features,
            "objective": problem.objective,
            "seed": problem.seed,
            "seeds": problem.seeds_of(range(first, first + n)),
            "plans": problem.plans_of(range(first, first + n)),
            "n_rows": problem.n_rows_of(range(first, first + n)),
            "weight_unit": units,
        }
        forest = Forest.__new__(Forest)
        forest.__setstate__(state)
        tree_of = forest.tree_reader()
        return [GrownTree(first + t, tree_of(t), float(units[t])) for t in range(n)]

    def write(self):
        """Write the trees of whole steps that have come."""
        n_trees = self.n_steps * self._growth.n_together
        if n_trees:
            trees = self._trees[:n_trees]
            forest = self._growth.forest_of(trees)
            arrays = {**shrink(forest.as_dict()), "first": trees[0].number, "weight_unit": forest.weight_unit}
            record = BytesIO()
            np.savez(record, **arrays)
            self._file.append(record.getvalue())
            del self._trees[:n_trees]

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
        while end + FRAME.size <= len(whole):
            length, crc = FRAME.unpack_from(whole, end)
            begin = end + FRAME.size
            if begin + length > len(whole):
                break
            record = whole[begin : begin + length]
            if zlib.crc32(record) != crc:
                raise self.damaged(f"a checksum is wrong at byte {begin}")
            records.append(record)
            end = begin + length
        self._cut(end)
        if not records:
            return None, []
        try:
            return _checked(json.loads(records[0])), records[1:]
        except (ValueError, RecursionError) as error:
            raise self.damaged(error) from error

    def damaged(self, why):
        """The error of a file that is not what was written."""
        return ValueError(f"the checkpoint {self.path!r} is damaged: {why}; delete the file")

    def append(self, record):
        """Write a record, and wait until the system has it safe."""
        self._file.write(FRAME.pack(len(record), zlib.crc32(record)) + record)
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


def _checked(header):
    """The header. Raises ValueError if it is not of the form that one has."""
    if type(header) is not dict:
        raise ValueError(f"its header is a {type(header).__name__}")
    for name, kind in _HEADER.items():
        if type(header.get(name)) is not kind:
            raise ValueError(f"its header has {name}={header.get(name)!r}, which is no {kind.__name__}")
    if not all(type(seed) is int and 0 <= seed < 2**64 for seed in header["seeds"]):
        raise ValueError(f"its header has seeds={header['seeds']!r}; seeds are integers from 0 on, below 2**64")
    return header


def _header_of_fit(growth):
    """What is known of a fit before its data are: a dict of what JSON has."""
    parameters = every_parameter(growth.estimator)
    return {
        "version": version("dforest"),
        "estimator": type(growth.estimator).__name__,
        "parameters": {name: comparable(value) for name, value in sorted(parameters.items()) if name not in growth.free},
    }


def _header_of_data(growth):
    """Digests of the data of a fit, by name, also of what its columns are, and the parameters that were chosen for the data."""
    kinds = growth.estimator._features.kinds.tolist()
    return {**growth.digests, **growth.chosen, "X": f"{growth.digests['X']} {kinds}"}
