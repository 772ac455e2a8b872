"""What a column must hold so that floats say exactly what it says, and what its owner can do where it does not.

All columns of a table are looked at before an error is raised, so that one error names everything that is to be mended.
"""

import re
from typing import NamedTuple

import numpy as np

LARGEST_EXACT = 2**53  # the largest integer up to which all are exact in float64
ALLOWED = "allowed are numbers, booleans and missing values"
MOST_LINES = 20  # columns that a message names
FEW = 256  # different texts of a column, of which more may be words rather than labels
LONGEST = 40  # characters of a date or an amount: patterns take long for very long text
ROWS_OF_IDS = 30  # values that are different are ids from so many on
ROWS_OF_COPY = 20  # and one in so many may be there before, as ids of copied rows are

_PATTERNS = {
    "dates": re.compile(r"\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?$"),
    "amounts": re.compile(r"\s*[^\w\s]?\s*[-+]?\d[\d.,' ]*\s*([^\w\s]|[A-Za-z]{1,3})?\s*$"),
}

LABELS = 'name it in categorical_features, or let categorical_features="auto" take all columns of text and booleans as categories'
DATES = (
    "make numbers of it, such as years, months, or days since a date: as pandas.to_datetime and Series.dt do, or in a pipeline "
    "sklearn.preprocessing.FunctionTransformer or skrub.TableVectorizer"
)
TEXT_OF_DATES = (
    f"{DATES}. Write down the format, such as pandas.to_datetime(column, format='%d/%m/%Y'): where it is guessed, "
    "a row alone may get another date than in its table"
)
MIXED = "make it missing: pandas.to_numeric(column, errors='coerce')"
AMOUNTS = (
    "take the signs away: pandas.to_numeric(column.str.replace(r'[^0-9.-]', '', regex=True)), once any decimal comma "
    "is a point"
)
ADVICE = {"dates": TEXT_OF_DATES, "amounts": AMOUNTS}
IDS = "leave it out, as a value that one row alone has says nothing about other rows"
SCATTERED = (
    "leave it out, as too few rows share a value to learn from it; if it is free text, skrub.TableVectorizer makes numbers of it"
)
WORDS = "encode it, for example by sklearn.preprocessing.TargetEncoder, or skrub.TableVectorizer, which is for free text, too"


class Refusal(NamedTuple):
    """Why a column is refused.

    Attributes
    ----------
    what : str
        What the column holds, as the message says it after the column's name.
    advice : str
        What to do; may be empty.
    is_type : bool
        Whether a value has a type that is no number, text or date: the error is a TypeError then.
    """

    what: str
    advice: str = ""
    is_type: bool = False


def check_columns(columns, numbers):
    """Raise ValueError or TypeError if columns of X hold anything that float64 does not hold exactly, or that is no number.

    Parameters
    ----------
    columns : ArrayColumns
    numbers : iterable of int
        Which columns.
    """
    found = [(columns.title(j), refusal_of(columns.known(j))) for j in numbers]
    refused = [(title, refusal) for title, refusal in found if refusal is not None]
    if len(refused) <= 1:
        for title, refusal in refused:
            raise _error(title, refusal)
        return
    lines = [f"{title} holds {what}{': ' * bool(advice)}{advice}" for title, (what, advice, _) in refused[:MOST_LINES]]
    if len(refused) > MOST_LINES:
        lines.append(f"and {len(refused) - MOST_LINES} more columns")
    error = TypeError if all(refusal.is_type for _, refusal in refused) else ValueError
    raise error("\n".join([f"{len(refused)} columns of X can't be taken as they are; {ALLOWED}:", *lines]))


def check_values(title, values):
    """`check_columns` for a single array, which is no column that could be encoded: y, or the values of a sparse matrix."""
    refusal = refusal_of(values)
    if refusal is not None:
        raise _error(title, refusal._replace(advice=""))


def _error(title, refusal):
    what, advice, is_type = refusal
    if advice:
        advice = f". {advice[0].upper()}{advice[1:]}"
    return (TypeError if is_type else ValueError)(f"{title} holds {what}; {ALLOWED}{advice}")


def refusal_of(values):
    """Why the values of a column are refused: `Refusal`, or None. values : ndarray of those that are not missing, or of all"""
    kind, width = values.dtype.kind, values.dtype.itemsize
    if kind in "OUST":
        return _refusal_of_objects(values.tolist())
    if kind in "iu" and width >= 8:
        large = (values > LARGEST_EXACT) | (values < -LARGEST_EXACT)
        return _large_integer(values[large][0]) if large.any() else None
    if kind == "f" and width > 8:
        with np.errstate(over="ignore"):
            lost = (values.astype(np.float64) != values) & ~np.isnan(values)
        return Refusal(f"{values[lost][0]!r}, which float64 would round") if lost.any() else None
    if kind == "c":
        return Refusal(f"values of type {values.dtype}. Complex data not supported")
    if kind in "mM":
        return Refusal(f"values of type {values.dtype.name.partition('[')[0]}", DATES)  # the unit depends on pandas' version
    return None


def _large_integer(value):
    return Refusal(f"the integer {value}; integers beyond 2**53 would be rounded", "rescale them, or use their ranks")


def _refusal_of_objects(values):
    for value in values:
        if isinstance(value, int | np.integer):
            if abs(int(value)) > LARGEST_EXACT:
                return _large_integer(value)
        elif not isinstance(value, float) and value is not None:
            try:
                float(value)
            except ValueError:
                return _refusal_of_text(value, values) if isinstance(value, str) else Refusal(f"{value!r}", LABELS)
            except TypeError as error:
                if hasattr(value, "isoformat"):
                    return Refusal(f"{type(value).__name__}s such as {str(value)!r}", DATES)
                return Refusal(f"{value!r} ({error})", is_type=True)
    return None


def _refusal_of_text(first, values):
    """That of a column of objects in which there is text that is no number. first : the first such text"""
    try:
        different = set(values)  # columns may be long
    except TypeError:  # there are lists, say, behind the first text
        different = values
    texts = {value for value in different if isinstance(value, str)}
    if any(map(_is_number, different)) and 2 * sum(map(_is_number, values)) > len(values):
        return Refusal(f"{first!r} among numbers", MIXED)
    first = first if len(first) <= LONGEST else f"{first[:LONGEST]}..."
    content = content_of(texts)
    if content is not None:
        return Refusal(f"text of {content}, such as {first!r}", ADVICE[content])
    n = len(texts)
    if 2 * n >= len(values) and are_ids(n, n_texts := sum(isinstance(value, str) for value in values)):
        return Refusal(f"text that differs in {'each row' if n == n_texts else 'nearly each row'}, such as {first!r}", IDS)
    if n > FEW:
        return Refusal(f"{n} different texts, such as {first!r}", SCATTERED if 2 * n > len(values) else f"{LABELS}; or {WORDS}")
    return Refusal(f"{n} different texts, such as {first!r}" if n > 1 else f"the text {first!r}", LABELS)


def content_of(texts):
    """What all of these different texts say: "dates", "amounts" or, if it is something else, None."""
    if max(map(len, texts)) > LONGEST:
        return None
    return next((content for content, pattern in _PATTERNS.items() if all(map(pattern.match, texts))), None)


def are_ids(n_different, n_known):
    """Whether values are ids, given how many different ones there are, and in how many rows."""
    return n_known >= ROWS_OF_IDS and (n_known - n_different) * ROWS_OF_COPY <= n_known


def _is_number(value):
    """Whether a value, which may be text, says a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
