"""What collectives return, against NumPy, over random arrays; for communicators of every kind."""

import numpy as np

RECORD = np.dtype([("count", "u2"), ("place", "i4", (2,)), ("weight", "f8")])
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
KINDS = [*INTEGERS, ">i4", "?", "f2", "f4", "f8", "c8", "M8[s]", "S3", RECORD]


def random_array(rng, kind, shape):
    kind = np.dtype(kind)
    if kind.names:
        array = np.zeros(shape, kind)  # with what lies between fields, too
        for name in kind.names:
            field = array[name]
            field[...] = random_array(rng, field.dtype, field.shape)
        return array
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, kind.newbyteorder("="), endpoint=True).astype(kind)
    if kind.kind in "fc":
        values = np.array([-np.inf, -2.5, -0.0, 0.0, 1.0, 3.25, np.inf])
        return rng.choice(values, shape).astype(kind)
    return rng.integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind)


def same(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    assert found.flags.writeable


def check_collectives(ranks, seeds, longest=3000):
    """Compare the collectives of all ranks, each of which knows what all of them hand in; return the number of cases.

    Parameters
    ----------
    ranks : Communicator
    seeds : iterable of int
    longest : int
        Entries, or rows of entries, of an array at most.
    """
    n_cases = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kind = KINDS[rng.integers(len(KINDS))]
        width = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 4, rng.integers(0, 3)))
        most = rng.choice([1, 10, longest])
        lengths = rng.integers(0, most + 1, (ranks.size, ranks.size))
        parts = [[random_array(rng, kind, (n, *width)) for n in row] for row in lengths]
        for rank, got in enumerate(ranks.exchange(parts[ranks.rank])):
            same(got, parts[rank][ranks.rank])
        for rank, got in enumerate(ranks.gather(parts[ranks.rank][0])):
            same(got, parts[rank][0])
        number = INTEGERS[rng.integers(len(INTEGERS))]
        shape = (int(rng.integers(0, most + 1)), *width)
        arrays = [random_array(rng, number, shape) for _ in range(ranks.size)]
        total = arrays[0].copy()
        for array in arrays[1:]:
            total += array
        edges = ranks.edges(shape[0])
        same(ranks.sum(arrays[ranks.rank]), total)
        same(ranks.sum_scattered(arrays[ranks.rank]), total[edges[ranks.rank] : edges[ranks.rank + 1]])
        edges = np.concatenate([[0], np.sort(rng.integers(0, len(total) + 1, ranks.size - 1)), [len(total)]])
        same(ranks.sum_scattered(arrays[ranks.rank], edges), total[edges[ranks.rank] : edges[ranks.rank + 1]])
        number = [*INTEGERS, "f4", "f8", "f2"][rng.integers(len(INTEGERS) + 3)]
        arrays = [random_array(rng, number, shape) for _ in range(ranks.size)]
        for found, expected in [
            (ranks.least(arrays[ranks.rank]), np.min(arrays, axis=0)),
            (ranks.greatest(arrays[ranks.rank]), np.max(arrays, axis=0)),
        ]:
            same(found, np.where(expected == 0, 0, expected).astype(number))  # of zeros, the one without a sign
        assert ranks.gather_objects((ranks.rank, seed)) == [(rank, seed) for rank in range(ranks.size)]
        n_cases += 1
    return n_cases
