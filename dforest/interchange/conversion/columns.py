"""What other libraries take for the columns of X, and the rows on which a model of them is compared.

A category has a *number*, by which trees know it, and a *label*, which is what X holds. Models of other libraries get X as the
user has it, so that their tests are of labels, which must be numbers. ONNX can look up the numbers of labels that are text; C
code has functions that do so for all labels.
"""

import re

import numpy as np

from dforest.interchange.conversion.oblique import is_oblique
from dforest.interchange.conversion.probes import probe_rows

_ENCODE = (
    "encode it before fit, as by scikit-learn's OneHotEncoder or OrdinalEncoder in a pipeline, with categorical_features=None"
)


_ENCODE_LABELS = (
    "encode the column before fit, as by scikit-learn's OrdinalEncoder in a pipeline, and name it in categorical_features or "
    "ordinal_features"
)


def check_numbers_alone(estimator, library):
    """Raise ValueError if there are categories or labels, or tests of a splitter's own."""
    check_own_tests(estimator, library)
    for name, labels, n_categories in _columns(estimator):
        if labels is not None or n_categories:
            kind = "categories" if n_categories else "the labels of levels"
            raise ValueError(f"column {name!r} holds {kind}, and {library}'s trees only take numbers; {_ENCODE}")


def check_own_tests(estimator, library, takes_lines=False, takes_sums=False):
    """Raise ValueError if a splitter makes tests of its own, or if leaves are linear, unless the library takes such.

    takes_sums : tests of oblique trees are allowed
    """
    if estimator.forest_.objective.line_tables and not takes_lines:
        raise ValueError(
            f'leaf_model="linear": leaves add linear functions of features, and those of {library}\'s trees add numbers; allowed '
            'are leaf_model="constant", to_c, and to_onnx'
        )
    splitter = estimator.forest_.splitter
    if takes_sums and is_oblique(estimator.forest_):
        return
    for name, allowed in (("extension_level", 0), ("split_axis", "axis_aligned")):
        value = getattr(estimator, name, allowed)
        if splitter is not None and value != allowed:
            raise ValueError(
                f"{name}={value!r}: tests add up several features, and {library}'s trees only compare one number with a "
                f"threshold; allowed is {name}={allowed!r}"
            )
    if splitter is not None:
        raise ValueError(
            f"{splitter!r} makes tests of its own, and {library}'s trees only compare one number with a threshold, or look "
            "whether it is in a set; allowed are splitters without such tests"
        )


def numeric_labels(estimator, library, dtype, least, most, encodes_text=False):
    """The labels of all categories, as numbers of a type.

    Parameters
    ----------
    estimator : estimator
    library : str
        For messages.
    dtype : type
        Of floats or integers, which hold the range exactly.
    least, most : int
        The range of integers that the library takes for categories.
    encodes_text : bool, default=False
        Whether labels that are text are passed as their numbers, so that these take their place: see `text_labels`.

    Returns
    -------
    list of ndarray or None
        For each feature the label of each category; None for features that are no categories.

    Raises
    ------
    ValueError
        If a column has labels that are no such integers, or levels with labels.
    """
    found = []
    for name, labels, n_categories in _columns(estimator):
        if encodes_text and labels is not None and all(map(_is_text, labels.tolist())):
            labels = np.arange(n_categories) if n_categories else None
        if not n_categories:
            if labels is not None:
                what = "levels that are text or numbers in ascending order" if encodes_text else "numbers"
                raise ValueError(f"column {name!r} holds the labels of levels, and {library} only takes {what}; {_ENCODE}")
            found.append(None)
            continue
        labels = np.arange(n_categories) if labels is None else labels
        for label in labels.tolist():
            if not (isinstance(label, int | float) and least <= label <= most and label == int(label)):
                raise ValueError(
                    f"column {name!r} holds the category {label!r}; allowed in a model of {library} are "
                    f"{'text and ' * encodes_text}integers from {least} to {most}; {_ENCODE}"
                )
        found.append(labels.astype(dtype))
    return found


def text_labels(estimator):
    """The labels of all columns that hold text: a list of lists, with None for other columns."""
    found = [None if labels is None else labels.tolist() for _, labels, _ in _columns(estimator)]
    return [labels if labels is not None and all(map(_is_text, labels)) else None for labels in found]


def coded_labels(estimator, library):
    """The labels of all columns whose values trees know by other numbers, which are their places.

    Parameters
    ----------
    estimator : estimator
    library : str
        For messages.

    Returns
    -------
    list of ndarray or None
        For each feature, labels as objects that are text, or as numbers of float64; None for features that have none.

    Raises
    ------
    ValueError
        If there are other labels.
    """
    found = []
    for name, labels, _ in _columns(estimator):
        known = [] if labels is None else labels.tolist()
        is_text = all(map(_is_text, known))
        for label in known:
            if not (is_text or isinstance(label, int | float) and float(label) == label):
                raise ValueError(
                    f"column {name!r} holds the label {label!r}; allowed in {library} are text and numbers of float64; {_ENCODE}"
                )
        found.append(np.array(known, object if is_text else np.float64) if known else None)
    return found


def threshold_labels(estimator, library, dtype):
    """The numbers that X holds for categories and for levels with labels, where tests compare these with thresholds.

    Parameters
    ----------
    estimator : estimator
    library : str
        For messages.
    dtype : type
        To which the library rounds X: ``np.float32`` or ``np.float64``.

    Returns
    -------
    list of ndarray or None
        For each feature the label of each category or level, of `dtype`; None for features that have neither.

    Raises
    ------
    ValueError
        If there are other labels than numbers, or labels that are infinite in `dtype`, or two that are equal there.
    """
    found = []
    for name, labels, n_categories in _columns(estimator):
        if labels is None:
            found.append(np.arange(n_categories, dtype=dtype) if n_categories else None)
            continue
        for label in labels.tolist():
            if not (isinstance(label, float) or isinstance(label, int) and abs(label) < 2**64):
                raise ValueError(
                    f"column {name!r} holds the label {label!r}, and {library}'s trees only compare numbers; allowed are labels "
                    f"that are numbers: {_ENCODE_LABELS}"
                )
        with np.errstate(over="ignore", under="ignore"):
            rounded = labels.astype(dtype)
        if len(np.unique(rounded)) < len(labels) or not np.isfinite(rounded).all():
            raise ValueError(
                f"column {name!r} has labels that are infinite, or two that are equal, as numbers of {np.dtype(dtype)}, to which "
                f"{library} rounds X: {_ENCODE_LABELS}"
            )
        found.append(rounded)
    return found


def own_numbers(estimator):
    """What `threshold_labels` returns where rows hold the numbers of labels in their place."""
    counts = ((n_categories if labels is None else len(labels)) for _, labels, n_categories in _columns(estimator))
    return [np.arange(n, dtype=np.float64) if n else None for n in counts]


def _is_text(label):
    """Whether a label is text that other languages can have: UTF-8 without NUL."""
    return isinstance(label, str) and not re.search("[\0\ud800-\udfff]", label)


def class_labels(classes, library):
    """The labels of classes in a type that others have: ndarray of int64, float64, bool, or of objects that are text.

    Raises
    ------
    ValueError
        If there are others; the message says that they are not allowed in `library`.
    """
    if classes.dtype.kind in "iu" and (classes <= np.iinfo(np.int64).max).all():
        return classes.astype(np.int64)
    if classes.dtype.kind == "b":
        return classes.copy()
    if classes.dtype.kind == "f" and (classes.astype(np.float64) == classes).all():
        return classes.astype(np.float64)
    if all(map(_is_text, classes.tolist())):
        return np.array(classes.tolist(), object)
    raise ValueError(
        f"the classes are {classes.tolist()}; allowed in {library} are text, booleans, integers of 64 bits and floats: "
        "encode y before fit, for example with scikit-learn's LabelEncoder"
    )


def _columns(estimator):
    """(name, labels or None, number of categories) of each column; one of which training saw no label has none to test."""
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    known = [None if labels is None or not len(labels) else labels for labels in estimator.categories_]
    return zip(names, known, estimator.forest_.n_categories, strict=True)


def as_levels(numbers, n_levels):
    """Levels next to numbers, of which there are none between two: for every other number the next one above it."""
    is_odd = np.arange(len(numbers)) % 2 == 1
    return np.clip(np.where(is_odd, np.ceil(numbers), np.floor(numbers)), 0, n_levels - 1)


def known_probes(estimator, dtype, labels, missing, **allowed):
    """As `probes_of`, without unknown categories: in their place values are missing, or the row is left out.

    Parameters
    ----------
    estimator, dtype : see `probes_of`
    labels : list of ndarray or None
        As `threshold_labels` returns them.
    missing, **allowed : see `probe_rows`
    """
    encoded = probe_rows(estimator.forest_, dtype, missing, **allowed)
    labels = {j: known for j, known in enumerate(labels) if known is not None}
    for j, known in labels.items():
        if estimator.forest_.n_categories[j]:
            encoded[encoded[:, j] == len(known), j] = np.nan
        else:
            encoded[:, j] = as_levels(encoded[:, j], len(known))
    if not missing:
        encoded = encoded[~np.isnan(encoded).any(axis=1)]
    rows = encoded.copy()
    for j, known in labels.items():
        rows[:, j] = _labelled(encoded[:, j], known)
    return encoded, rows


def probes_of(estimator, dtype, labels=None, fractions=False, **allowed):
    """Rows at the thresholds of an estimator's trees, as the trees take them and as the user has them.

    Parameters
    ----------
    estimator : estimator
    dtype : type
        Of the rows.
    labels : list of ndarray or None
        As `numeric_labels` returns them; None: there are no categories.
    fractions : bool, default=False
        Whether half of the unknown categories are no integers.
    **allowed
        `missing` and `infinite` of `probe_rows`.

    Returns
    -------
    encoded, rows : ndarray of shape (n_rows, n_features)
        In the first one, categories are their numbers.
    """
    encoded = probe_rows(estimator.forest_, dtype, **allowed)
    rows = encoded.copy()
    for j, known in enumerate(labels or ()):
        if known is not None:
            # The number after the last one stands for a category that was not there in training.
            is_unknown = encoded[:, j] == len(known)
            rows[:, j] = _labelled(encoded[:, j], known)
            rows[is_unknown, j] = _unknown(known)
            if fractions:
                rows[is_unknown & (np.arange(len(rows)) % 2 == 1), j] = 0.5
    return encoded, rows


def _labelled(numbers, labels):
    """The labels that numbers stand for; other numbers, and NaN, as they are."""
    found, is_known = numbers.copy(), numbers < len(labels)
    found[is_known] = labels[numbers[is_known].astype(np.intp)]
    return found


def _unknown(labels):
    """The least integer from 0 that is no label."""
    return next(number for number in range(len(labels) + 1) if number not in labels)
