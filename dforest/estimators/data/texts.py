"""What the texts of a column say: dates and amounts, with their numbers, or what looks like numbers or dates and is neither.

The numbers of dates and amounts have their order, so that a tree can cut them. Those of addresses, versions, codes of digits and
values beyond a limit would have an order, or sums, that mean nothing. What is ambiguous in a text alone is decided by all texts
of a column.
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


LIMITS = (
    "take the limit, or a half of it, for a value beyond it, and add a column that says so: "
    "pandas.to_numeric(column.astype(str).str.strip('<>=≤≥ ')) and column.astype(str).str.contains('[<>≤≥]')"
)
ADDRESSES = "leave it out, or keep the network as a category: column.str.rsplit('.', n=1).str[0]"
PHONES = "leave it out, or keep what begins it, such as the country or the area, as a category: they are names and no amounts"
VERSIONS = "make a column of each part: column.str.extract(r'(\\d+)\\.(\\d+)').astype(float)"
PAIRS = "make a column of each part: column.str.split(',', expand=True).astype(float)"
DIGITS = (
    "these are codes and no amounts, as leading zeros say, such as postcodes: keep their text, and name it in "
    "categorical_features, best with few digits, such as column.str[:2]"
)

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BEYOND = re.compile(rf"\s*[<>≤≥]=?\s*{_NUMBER}\s*")
_PLAIN = re.compile(rf"\s*{_NUMBER}\s*")
_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|(?=[:/]|$))){4}(?:[:/]\d+)?")
# An area code without brackets has three digits or more, and what follows as many as no time of day and no date has.
_PHONE = re.compile(r"(?=(?:\D*\d){7,15}\D*$)(?:\+\d|\(\d{2,5}\)|0\d{2,5}[ /-](?=(?:[ /-]?\d){5}))[\d ()/-]*")
_VERSION = re.compile(r"[vV]?\d{1,3}\.\d{1,4}\.(\d{1,4})")
_PAIR = re.compile(r"\s*[-+]?\d+\.\d+\s*,\s*[-+]?\d+\.\d+\s*")
_DIGITS = re.compile(r"\d{2,}")


class Codes(NamedTuple):
    """What text is.

    Attributes
    ----------
    kind : str
        Such as "IP addresses".
    example : str
    advice : str
    """

    kind: str
    example: str
    advice: str


def code_kind(texts, has_numbers=False):
    """What different texts of a column are, a `Codes`, if all of them are such; else None.

    has_numbers : bool
        Whether the column has numbers beside the text.
    """
    if not texts:
        return None
    beyond = [text for text in texts if _BEYOND.fullmatch(text)]
    if beyond and (has_numbers or len(beyond) < len(texts)) and _are(_PLAIN, set(texts).difference(beyond)):
        return Codes("values beyond a limit", beyond[0], LIMITS)
    for kind, pattern, advice in (("IP addresses", _ADDRESS, ADDRESSES), ("phone numbers", _PHONE, PHONES)):
        if _are(pattern, texts):
            return Codes(kind, texts[0], advice)
    # The last part of a date that begins with a day or a month has two digits or four.
    if _are(_VERSION, texts) and any(len(_VERSION.fullmatch(text)[1]) == 1 for text in texts):
        return Codes("versions", texts[0], VERSIONS)
    if _are(_PAIR, texts):
        return Codes("pairs of numbers", texts[0], PAIRS)
    return digits_of(texts)


def digits_of(texts):
    """`Codes` of digits, some of which begin with a zero; else None."""
    if _are(_DIGITS, texts) and len(set(map(len, texts))) == 1 and any(text[0] == "0" for text in texts):
        return Codes("digits", next(text for text in texts if text[0] == "0"), DIGITS)
    return None


def _are(pattern, texts):
    return all(map(pattern.fullmatch, texts))
