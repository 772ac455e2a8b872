"""The tests of oblique splits, read from their payloads; `oblique.pyx` says what these consist of."""

from typing import NamedTuple

import numpy as np

HEAD = 2  # words of a payload before its terms
TERM = 3  # words of a term


class ObliqueTest(NamedTuple):
    """What a node asks of a row.

    Attributes
    ----------
    threshold : float
        Rows whose sum is at most this go left; NaN of a categorical column.
    missing_left : bool
        Where rows go whose sum has no value, or whose category is missing.
    columns : ndarray of shape (n_terms,), dtype int64
        The columns that are added up, or the categorical one.
    terms : ndarray of shape (n_terms, 2), dtype float64, or None
        The weight of each column, and what a missing value counts as. None of a categorical column.
    subset : ndarray of shape (n_words,), dtype uint64, or None
        Of a categorical column a bit for each category on the side opposite to missing ones.
    """

    threshold: float
    missing_left: bool
    columns: np.ndarray
    terms: np.ndarray | None
    subset: np.ndarray | None

    @classmethod
    def read(cls, payload):
        """The test of a payload, an ndarray of uint64."""
        threshold, missing_left = payload[:HEAD].view(np.float64).tolist()
        if threshold != threshold:
            column = payload[HEAD : HEAD + 1].view(np.float64).astype(np.int64)
            return cls(threshold, bool(missing_left), column, None, payload[HEAD + 1 :])
        terms = payload[HEAD:].view(np.float64).reshape(-1, TERM)
        return cls(threshold, bool(missing_left), terms[:, 0].astype(np.int64), terms[:, 1:], None)

    @property
    def is_sum(self):
        """Whether several columns are added up; else the test is one of an ordinary tree."""
        return self.terms is not None and len(self.terms) > 1

    def describe(self, names):
        """The test as text, such as "-0.5 a + 2 b <= 0.25"; None for a categorical column."""
        if self.terms is None:
            return None
        if self.is_sum:
            weights = zip(self.columns.tolist(), self.terms[:, 0].tolist(), strict=True)
            text = " ".join(f"{'-' if weight < 0 else '+'} {abs(weight):.3g} {names[column]}" for column, weight in weights)
            text = text[2:] if text[0] == "+" else "-" + text[2:]
        else:
            text = names[self.columns[0]]
        return f"{text} <= {self.threshold:.3g}" + (" or missing" if self.missing_left else "")
