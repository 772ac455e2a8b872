"""What a column must hold so that floats say exactly what it says, and what its owner can do where it does not.

All columns of a table are looked at before an error is raised, so that one error names everything that is to be mended.
"""

import re
from typing import NamedTuple

import numpy as np

from dforest.estimators.data.labels import is_missing
from dforest.estimators.data.texts import LONGEST, code_kind, code_of_amounts, content_of, digits_of

LARGEST_EXACT = 2**53  # the largest integer up to which all are exact in float64
ALLOWED = "allowed are numbers, booleans and missing values"
MOST_LINES = 20  # columns that a message names
FEW = 256  # different texts of a column, of which more may be words rather than labels
ROWS_OF_IDS = 30  # values that are different are ids from so many on
ROWS_OF_COPY = 20  # and one in so many may be there before, as ids of copied rows are

_DIGITS = re.compile(r"\s*[-+]?\d[\d.,' ]*$")  # an amount without a sign of a currency
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}\.\d{3}\s*$")

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
SIGNS = "write all amounts the same way first: points and commas can't mean the same in all of them"
NUMBERS = "make numbers of it: pandas.to_numeric(column)"
THOUSANDS = (
    "fit takes the point for a decimal one. If it marks thousands: pandas.to_numeric(column.str.replace('.', '', regex=False)); "
    "if not, pandas.to_numeric(column)"
)
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


def check_columns(table, numbers):
    """Raise ValueError or TypeError if columns of X hold anything that float64 does not hold exactly, or that is no number.

    Parameters
    ----------
    table : Table
    numbers : iterable of int
        Which columns.
    """
    found = [(table.title(j), refusal_of(table.known(j))) for j in numbers]
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
                if abs(float(value)) >= LARGEST_EXACT and _is_rounded(value):
                    return _large_integer(value)
            except ValueError:
                return _refusal_of_text(value, values) if isinstance(value, str) else Refusal(f"{value!r}", LABELS)
            except TypeError as error:
                if is_missing(value):
                    continue
                if hasattr(value, "isoformat"):
                    return Refusal(f"{type(value).__name__}s such as {str(value)!r}", DATES)
                return Refusal(f"{value!r} ({error})", is_type=True)
    return None


def _is_rounded(value):
    """Whether a number of another type, or text of one, is written as an integer that float64 does not hold."""
    try:
        return int(str(value)) != int(float(value))
    except (ValueError, OverflowError):  # 1e23, say, or infinity
        return False


def _refusal_of_text(first, values):
    """That of a column of objects in which there is text that is no number. first : the first such text"""
    try:
        different = list(dict.fromkeys(values))  # columns may be long
    except TypeError:  # there are lists, say, behind the first text
        different = values
    texts = list(dict.fromkeys(value for value in different if isinstance(value, str)))
    codes, content = code_kind(texts, any(map(_is_number, different))), content_of(texts)
    if codes is not None:
        return Refusal(f"text of {codes.kind}, such as {codes.example!r}", codes.advice)
    if any(map(_is_number, different)) and 2 * sum(map(_is_number, values)) > len(values):
        is_amount = content is not None and len(texts) == len(different) and not content.others
        if not is_amount or not all(_is_number(text) or _DIGITS.match(text) for text in texts):
            return Refusal(f"{first!r} among numbers", MIXED)
    if content is not None:
        if content.others:
            return Refusal(f"{_cut(content.others[0])!r} among {content.kind}", advice_on(content))
        return Refusal(f"text of {content.kind}, such as {first!r}", advice_on(content))
    first = _cut(first)
    n = len(texts)
    if 2 * n >= len(values) and are_ids(n, n_texts := sum(isinstance(value, str) for value in values)):
        return Refusal(f"text that differs in {'each row' if n == n_texts else 'nearly each row'}, such as {first!r}", IDS)
    if n > FEW:
        return Refusal(f"{n} different texts, such as {first!r}", SCATTERED if 2 * n > len(values) else f"{LABELS}; or {WORDS}")
    return Refusal(f"{n} different texts, such as {first!r}" if n > 1 else f"the text {first!r}", LABELS)


def _cut(text):
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def advice_on(content):
    """How to make numbers of text of dates or amounts, of which all or all but a few are: a `Content`."""
    if content.kind == "dates":
        return f"make it missing by errors='coerce', and {TEXT_OF_DATES}" if content.others else TEXT_OF_DATES
    code = code_of_amounts(content.texts, content.others)
    missing = "make it missing, and " if content.others else ""
    return SIGNS if code is None else f"{missing}take the signs away: {code}"


def numbers_as_text(labels):
    """(an example, advice) for a column of these different values, which all say numbers; None if none of them is text."""
    texts = [label for label in labels if isinstance(label, str)]
    if not texts:
        return None
    codes = digits_of(texts) if len(texts) == len(labels) else None
    if codes is not None:
        return codes.example, codes.advice
    with_point = [text for text in texts if "." in text]
    if with_point and all(map(_THOUSANDS.match, with_point)) and all("e" not in text.lower() for text in texts):
        return with_point[0], THOUSANDS
    return texts[0], NUMBERS


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
