"""What says which projections oblique splits try: parameters of random ones, and matrices that are given in their place."""

from dataclasses import dataclass, fields
from hashlib import sha256
from importlib import import_module
from math import ceil
from numbers import Integral, Real

import numpy as np

from dforest.core.sparse_rows import SparseRows

WEIGHTS = "binary", "continuous", "integer", "power_of_two"
SCALINGS = None, "min_max", "standard"
PATCH_WEIGHTS = "binary", "continuous", "ones"
_MOST = 2**31 - 1  # projections
_MOST_EXPONENT = 5.0


def check_parameters(n_projections, projection_density, projection_weights, projection_scaling, thresholds, projections):
    """Raise ValueError unless the parameters of an `ObliqueSplitter` are what it says, but for the matrix of projections."""
    if n_projections is not None and not (
        isinstance(n_projections, Real)
        and not isinstance(n_projections, bool)
        and 0 < n_projections <= (_MOST if isinstance(n_projections, Integral) else _MOST_EXPONENT)
    ):
        raise ValueError(
            f"n_projections={n_projections!r}; allowed are None, integers from 1, and floats above 0 and up to {_MOST_EXPONENT}"
        )
    if not (
        isinstance(projection_density, Real)
        and not isinstance(projection_density, bool)
        and 0 < projection_density < np.inf
    ):
        raise ValueError(f"projection_density={projection_density!r}; allowed are positive numbers")
    for name, value, allowed in (
        ("projection_weights", projection_weights, WEIGHTS),
        ("projection_scaling", projection_scaling, SCALINGS),
        ("thresholds", thresholds, ("best", "random")),
    ):
        if not (value is None or isinstance(value, str)) or value not in allowed:
            raise ValueError(f"{name}={value!r}; allowed are {', '.join(map(repr, allowed))}")
    for name, value, default in (
        ("projection_density", projection_density, 2.0),
        ("projection_weights", projection_weights, "binary"),
        ("projection_scaling", projection_scaling, "min_max"),
    ):
        if projections is not None and value != default:
            raise ValueError(
                f"{name}={value!r} with projections of your own, whose weights are taken as they are; allowed is the default, "
                f"{default!r}"
            )


def count_projections(n_projections, n_numeric):
    """How many projections a node is to have, given the parameter and the number of columns of numbers: int."""
    if n_projections is None:
        return n_numeric
    if isinstance(n_projections, Integral):
        return int(n_projections)
    return min(_MOST, ceil(n_numeric**n_projections))


def term_counts(n_columns, density):
    """How many columns projections have, and how often that number is not exceeded.

    Parameters
    ----------
    n_columns : int
        Number of columns of numbers.
    density : float
        How many of them a projection has on average.

    Returns
    -------
    first : int
        The least number with a chance worth mentioning; each of the following is one more.
    cumulated : ndarray of shape (n,), dtype float64
        Chances of at most these numbers, according to the binomial distribution; the last one is 1.
    """
    if density >= n_columns:
        return n_columns, np.ones(1)
    share = density / n_columns
    mode = min(n_columns, int((n_columns + 1) * share))
    down, up = [1.0], [1.0]                            # from the mode, whose chance is the largest
    k, chance = mode, 1.0
    while k > 0 and chance > 2.0**-60:
        chance *= (k / (n_columns - k + 1)) * ((1.0 - share) / share)
        down.append(chance)
        k -= 1
    first = k
    k, chance = mode, 1.0
    while k < n_columns and chance > 2.0**-60:
        chance *= ((n_columns - k) / (k + 1)) * (share / (1.0 - share))
        up.append(chance)
        k += 1
    chances = down[:0:-1] + up
    sums = np.add.accumulate(chances)                  # one by one, in order
    return first, sums / sums.max()



@dataclass(frozen=True, eq=False, repr=False)
class Projections(SparseRows):
    """Rows of weights, one for each projection, of which zeros are not stored; see `SparseRows`."""

    def __post_init__(self):
        if not self.is_sound():
            raise ValueError("projections have columns out of order, or beyond all features")

    def is_sound(self):
        """Whether the arrays are what `SparseRows` says, with finite weights and no zeros, and two in each row at least."""
        right = {"values": np.float64, "columns": np.int32, "starts": np.int64}
        if not all(isinstance(array := getattr(self, name), np.ndarray) and array.dtype == dtype and array.ndim == 1
                   and array.flags.c_contiguous for name, dtype in right.items()):  # fmt: skip
            return False
        starts, columns = self.starts, self.columns
        if not (len(starts) > 1 and starts[0] == 0 and (np.diff(starts) >= 2).all() and starts[-1] == len(columns)):
            return False
        is_next = np.ones(len(columns), bool)
        is_next[starts[:-1]] = False
        return bool(
            len(self.values) == len(columns)
            and columns.min() >= 0
            and columns.max() < self.n_features
            and (np.diff(columns, prepend=-1)[is_next] > 0).all()
            and np.isfinite(self.values).all()
            and (self.values != 0.0).all()
        )

    @classmethod
    def read(cls, given):
        """The projections of an array-like or a sparse matrix of shape (n_projections, n_features).

        Raises
        ------
        ValueError
            If it is no matrix of finite numbers, or a row has fewer than two numbers other than 0.
        """
        if isinstance(given, cls):
            return given
        sparse = import_module("scipy.sparse")
        try:
            if np.iscomplexobj(given):
                raise TypeError("complex numbers")
            rows = sparse.csr_array(given if sparse.issparse(given) else np.asarray(given, float), dtype=float, copy=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"projections={given!r} is no matrix of numbers") from error
        if rows.ndim != 2 or not 1 <= rows.shape[0] <= _MOST:
            raise ValueError(f"projections has the shape {rows.shape}; allowed are matrices, a row for each of 1 to {_MOST} sums")
        rows.sum_duplicates()
        if not np.isfinite(rows.data).all():
            raise ValueError("projections holds infinities or NaN; allowed are finite numbers")
        rows.eliminate_zeros()
        n_weights = np.diff(rows.indptr)
        few = np.flatnonzero(n_weights < 2)
        if len(few):
            raise ValueError(
                f"row {few[0]} of projections has {n_weights[few[0]]} numbers other than 0; allowed are two and more, as single "
                "features are tried by themselves"
            )
        kept = SparseRows.of(rows)
        return cls(**{field.name: getattr(kept, field.name) for field in fields(kept)})

    def check(self, n_categories):
        """Raise ValueError unless the projections are of features that have so many categories, and of none that has any."""
        if self.n_features != len(n_categories):
            raise ValueError(f"projections has {self.n_features} columns, and X has {len(n_categories)} features")
        categorical = self.columns[np.asarray(n_categories)[self.columns] > 0]
        if len(categorical):
            raise ValueError(f"projections has weights of feature {categorical[0]}, which is categorical; allowed is 0")

    def __repr__(self):
        content = sha256(b"".join(array.tobytes() for array in (self.values, self.columns, self.starts))).hexdigest()[:16]
        return f"<{self.shape[0]} projections of {self.n_features} features, {content}>"


def _sizes(name, given, shape):
    """The least or greatest size along each axis: list of int."""
    sizes = list(given) if isinstance(given, tuple | list) else [given] * len(shape)
    if len(sizes) != len(shape) or not all(
        isinstance(size, Integral) and 1 <= size <= length for size, length in zip(sizes, shape, strict=False)
    ):
        raise ValueError(
            f"{name}={given!r}; allowed are an integer, or one for each of {len(shape)} axes, from 1 to the length of the axis, "
            f"which is {', '.join(map(str, shape))}"
        )
    return sizes


def patch_projections(shape, n_projections, *, min_size=2, max_size=None, weights="binary", random_state=None):
    """Draw sums over random patches of images or windows of series, for the parameter `projections` of forests.

    Neighbouring pixels, or values of a series, say more together than random ones do. A forest that adds up patches is called a
    manifold oblique random forest (MORF) [1]_.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of what a row of X holds: the length of a series, or height and width of an image, or more axes. The last axis
        varies fastest, as in ``images.reshape(n_images, -1)``.
    n_projections : int
        How many patches are drawn. They may be equal by chance.
    min_size, max_size : int or tuple of int, default=2 and None
        The least and the greatest length of a patch along all axes or along each. Lengths are drawn at random, each as likely as
        the others, and then the place of the patch from all where it lies within `shape`. `max_size` None means a half of each
        axis, rounded up, and `min_size` at least.
    weights : {"binary", "continuous", "ones"}, default="binary"
        The weights of a patch's values: -1 or 1, each at random; random numbers from -1 to 1, none of them 0; or 1, by which
        patches are added up as in [1]_.
    random_state : int, RandomState instance or None, default=None
        What patches are drawn from.

    Returns
    -------
    csr_array of shape (n_projections, n_features), dtype float64
        A row for each patch.

    Raises
    ------
    ValueError
        If a parameter is none of what is allowed, or patches may have a single value.

    References
    ----------
    .. [1] A. Li et al., "Manifold Oblique Random Forests: Towards Closing the Gap on Convolutional Deep Networks", SIAM Journal
       on Mathematics of Data Science 5(1), 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dforest import RandomForestClassifier
    >>> from dforest.splitter import patch_projections
    >>> X, y = load_digits(return_X_y=True)
    >>> patches = patch_projections((8, 8), 500, random_state=0)
    >>> patches.shape
    (500, 64)
    >>> forest = RandomForestClassifier(30, split_axis="oblique", projections=patches, random_state=0).fit(X[:900], y[:900])
    >>> forest.score(X[900:], y[900:]) > 0.9
    True
    """
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not shape or not all(isinstance(length, Integral) and length >= 1 for length in shape):
        raise ValueError(f"shape={shape!r}; allowed are integers from 1, one for each axis")
    if not (isinstance(n_projections, Integral) and 1 <= n_projections <= _MOST):
        raise ValueError(f"n_projections={n_projections!r}; allowed are integers from 1 to {_MOST}")
    if weights not in PATCH_WEIGHTS:
        raise ValueError(f"weights={weights!r}; allowed are {', '.join(map(repr, PATCH_WEIGHTS))}")
    least = _sizes("min_size", min_size, shape)
    default = tuple(max(low, -(-length // 2)) for low, length in zip(least, shape, strict=True))
    greatest = _sizes("max_size", default if max_size is None else max_size, shape)
    if any(low > high for low, high in zip(least, greatest, strict=True)):
        raise ValueError(f"min_size={min_size!r} is above max_size={max_size!r}")
    if np.prod(least) < 2:
        raise ValueError(f"min_size={min_size!r} allows patches of a single value; allowed are sizes by which they have two")
    from sklearn.utils import check_random_state  # here, as models predict without scikit-learn

    rng = check_random_state(random_state)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    columns = []
    for _ in range(n_projections):
        sizes = [rng.randint(low, high + 1) for low, high in zip(least, greatest, strict=True)]
        starts = [rng.randint(length - size + 1) for size, length in zip(sizes, shape, strict=True)]
        columns.append(numbers[tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))].ravel())
    n_values = sum(map(len, columns))
    if weights == "ones":
        values = np.ones(n_values)
    elif weights == "binary":
        values = 1.0 - 2.0 * rng.randint(2, size=n_values)
    else:
        values = (1.0 - rng.random_sample(n_values)) * (1.0 - 2.0 * rng.randint(2, size=n_values))
    ends = np.cumsum([0, *map(len, columns)])
    sparse = import_module("scipy.sparse")
    return sparse.csr_array((values, np.concatenate(columns), ends), shape=(n_projections, numbers.size))
