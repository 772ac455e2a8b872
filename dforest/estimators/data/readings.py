"""Text of dates and of amounts: what tells it from other text, and its numbers, in the same order, so that a tree can cut them.

What is ambiguous in a text alone is decided by all texts of a column.
"""

import re
from itertools import islice
from typing import NamedTuple

import numpy as np

LONGEST = 40  # characters of a date or an amount: patterns take long for very long text
MOST_OTHERS = 3  # different texts that are no dates or amounts in a column of these; or one in ten

_PATTERNS = {
    "dates": re.compile(r"\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d.*)?$"),
    "amounts": re.compile(r"\s*[^\w\s]?\s*[-+]?\d[\d.,' ]*\s*([^\w\s]|[A-Za-z]{1,3})?\s*$"),
}
_DATE = re.compile(r"\s*(\d+)[-/.](\d+)[-/.](\d+)(.*)", re.DOTALL)
_SIGNS = re.compile(r"[^\d.,]")
_NEGATIVE = re.compile(r"\D*[-(\N{MINUS SIGN}]")


class Content(NamedTuple):
    """What the different texts of a column say.

    Attributes
    ----------
    kind : str
        "dates" or "amounts".
    texts : list of str
        Those that say it.
    others : list of str
        Those that say something else, such as that a value is not known.
    """

    kind: str
    texts: list
    others: list


def content_of(texts):
    """The `Content` of different texts; None if they are no dates or amounts, but for a few."""
    n_others = max(MOST_OTHERS, len(texts) // 10)
    for kind, pattern in _PATTERNS.items():
        others = list(islice((text for text in texts if len(text) > LONGEST or not pattern.match(text)), n_others + 1))
        if len(others) <= n_others and 2 * len(others) < len(texts):
            return Content(kind, [text for text in texts if text not in others], others) if others else Content(kind, texts, [])
    return None


def dates_of(texts):
    """Days, with the time as a fraction, which have the order of the dates: ndarray of shape (n_texts,), dtype float64.

    If no text begins with a year, the year comes last, and the day first unless the second number is too large for a month.
    """
    parts = [_DATE.match(text).groups() for text in texts]
    first, second, third = np.array([[int(number) for number in part[:3]] for part in parts]).T
    if any(len(part[0]) > 2 for part in parts):
        year, month, day = first, second, third
    elif second.max() > 12 >= first.max():
        month, day, year = first, second, third
    else:
        day, month, year = first, second, third
    year = np.where(year < 100, year + np.where(year < 69, 2000, 1900), year)  # as time.strptime reads two digits
    times, place = np.unique([part[3] for part in parts], return_inverse=True)
    return (year * 13 + month) * 32 + day + place / len(times)


def amounts_of(texts):
    """Numbers without signs of a currency or of thousands: ndarray of shape (n_texts,), dtype float64."""
    numbers = _without_signs(texts)
    decimal = next((sign for sign in ".," if _is_decimal(sign, numbers)), None)
    for sign in ".,":
        numbers = [number.replace(sign, "." if sign == decimal else "") for number in numbers]
    factors = [-1 if _NEGATIVE.match(text) else 1 for text in texts]
    return np.array(factors) * np.array(list(map(float, numbers)))


def code_of_amounts(texts, others):
    """What makes numbers of a pandas column of amounts, as code and a remark on it; None if its signs have no single meaning."""
    numbers = _without_signs(texts)
    decimals = [sign for sign in ".," if _is_decimal(sign, numbers)]
    signs = decimals or [sign for sign in ".," if any(sign in number for number in numbers)]
    thousands = [sign for sign in ".," if sign not in decimals]
    whole = [number.partition(decimals[0])[0] for number in numbers] if decimals else numbers
    if len(signs) > 1 or not all(_are_thousands(sign, number) for sign in thousands for number in whole):
        return None
    code = "column"
    if others:
        shown = [repr(text) for text in others if len(text) <= LONGEST][:MOST_OTHERS]
        code += f".mask(column.isin([{', '.join(shown + ['...'] * (len(shown) < len(others)))}]))"
    if any(_NEGATIVE.match(text) and "-" not in text for text in texts):
        code += ".str.replace(r'[(\N{MINUS SIGN}]', '-', regex=True)"
    if signs == [","] if decimals else signs == ["."]:
        code += ".str.replace(r'[^0-9,-]', '', regex=True).str.replace(',', '.')"
    else:
        code += ".str.replace(r'[^0-9.-]', '', regex=True)"
    name = {".": "point", ",": "comma"}
    remark = f" (each {name[signs[0]]} stands before three digits, and is taken for thousands)" if signs and not decimals else ""
    return f"pandas.to_numeric({code}){remark}"


def _without_signs(texts):
    """Amounts without signs of a currency."""
    return [_SIGNS.sub("", text).strip(".,") for text in texts]


def _is_decimal(sign, numbers):
    """Whether a sign is the last one wherever it is, is never there twice, and does not always stand before three digits."""
    tails = [number.split(sign) for number in numbers if sign in number]
    return all(len(parts) == 2 and parts[1].isdigit() for parts in tails) and any(len(parts[1]) != 3 for parts in tails)


def _are_thousands(sign, number):
    """Whether three digits stand behind each sign."""
    return all(len(part) == 3 for part in number.split(sign)[1:])


READERS = {"dates": dates_of, "amounts": amounts_of}
