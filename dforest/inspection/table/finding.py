"""What `check_table` finds."""

import textwrap
from typing import NamedTuple

from dforest.estimators.data.texts import LONGEST

WIDTH = 100  # characters of a line
# What makes scores wrong comes first, then what makes `fit` fail, and what is merely of no use.
KINDS = (
    *("gives y away", "rows in both parts", "contradicting rows", "repeated rows", "y", "rare classes"),
    *("refused", "numbers stored as text", "id", "many labels", "label variants", "duplicate", "constant", "missing"),
)


class Finding(NamedTuple):
    """A thing that `check_table` has found.

    Attributes
    ----------
    column : object
        Name of the column of X or, if X has no names, its number; None if the finding is about rows or about y.
    kind : str
        What kind of a finding it is: ``"refused"``, ``"numbers stored as text"``, ``"missing"``, ``"constant"``,
        ``"id"``, ``"many labels"``, ``"label variants"``, ``"duplicate"`` or ``"gives y away"`` for columns; ``"repeated rows"``,
        ``"contradicting rows"`` or ``"rows in both parts"`` for rows; ``"y"`` or ``"rare classes"`` for y.
    what : str
        What was found.
    advice : str
        What to do about it.

    Examples
    --------
    >>> import dforest
    >>> (finding,) = dforest.check_table([[1.0, 5.0], [2.0, 5.0]])
    >>> finding.column, finding.kind, finding.what
    (1, 'constant', 'all rows have the value 5')
    """

    column: object
    kind: str
    what: str
    advice: str


class TableFindings(tuple):
    """What `check_table` has found: a tuple of `Finding`, which prints in groups, the serious ones first.

    A group has the findings of one kind for which the same advice is given, which stands in its heading. Lines have at most 100
    characters. `pandas.DataFrame(findings)` makes a frame of it.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns of the table.

    Examples
    --------
    >>> import dforest
    >>> dforest.check_table([[1.0, 5.0], [2.0, 5.0]])
    1 finding in 2 rows and 2 columns
    <BLANKLINE>
    constant: leave it out: no split can use it
      1  all rows have the value 5
    """

    def __new__(cls, findings, shape):
        self = super().__new__(cls, findings)
        self.shape = shape
        return self

    def __getnewargs__(self):
        return tuple(self), self.shape

    def __repr__(self):
        n = f"{len(self)} finding{'s' * (len(self) != 1)} in {self.shape[0]:,} rows and {self.shape[1]:,} columns"
        groups = {}
        for found in sorted(self, key=lambda found: KINDS.index(found.kind)):
            groups.setdefault((found.kind, found.advice), []).append(found)
        names = {found.column: short(found.column) for found in self if found.column is not None}
        width = max(map(len, names.values()), default=0)
        lines = [n]
        for (kind, advice), group in groups.items():
            lines += ["", *_wrapped(f"{kind}: {advice}" if advice else kind, "", "    ")]
            for found in group:
                indent = "  " if found.column is None else f"  {names[found.column]:{width}}  "
                lines += _wrapped(found.what, indent, " " * len(indent))
        return "\n".join(lines)


def _wrapped(text, first, others):
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def short(value):
    """A value for messages."""
    text = repr(int(value) if isinstance(value, float) and value.is_integer() else value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
