"""What `check_table` finds."""

from typing import NamedTuple

from dforest.estimators.data.column_check import LONGEST


class Finding(NamedTuple):
    """A thing that `check_table` has found.

    Attributes
    ----------
    column : object
        Name of the column of X or, if X has no names, its number; None if the finding is about rows or about y.
    kind : str
        What kind of a finding it is: ``"refused"``, ``"missing"``, ``"constant"``, ``"id"``, ``"many labels"``, ``"duplicate"``
        or ``"gives y away"`` for columns; ``"repeated rows"``, ``"contradicting rows"`` or ``"rows in both parts"`` for rows;
        ``"y"`` or ``"rare classes"`` for y.
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
    """What `check_table` has found: a tuple of `Finding`, which prints as a table.

    `pandas.DataFrame(findings)` makes a frame of it.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns of the table.

    Examples
    --------
    >>> import dforest
    >>> dforest.check_table([[1.0, 5.0], [2.0, 5.0]])
    1 finding in 2 rows and 2 columns
    column  what                       advice
    1       all rows have the value 5  leave it out: no split can use it
    """

    def __new__(cls, findings, shape):
        self = super().__new__(cls, findings)
        self.shape = shape
        return self

    def __getnewargs__(self):
        return tuple(self), self.shape

    def __repr__(self):
        n = f"{len(self)} finding{'s' * (len(self) != 1)} in {self.shape[0]:,} rows and {self.shape[1]:,} columns"
        if not self:
            return n
        cells = [("column", "what", "advice")]
        cells += [("" if found.column is None else repr(found.column), found.what, found.advice) for found in self]
        first, second = (min(max(len(row[place]) for row in cells), limit) for place, limit in ((0, LONGEST), (1, 80)))
        return "\n".join([n, *(f"{name:{first}}  {what:{second}}  {advice}" for name, what, advice in cells)])


def short(value):
    """A value for messages."""
    text = repr(int(value) if isinstance(value, float) and value.is_integer() else value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
