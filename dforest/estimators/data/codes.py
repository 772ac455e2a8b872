"""Text that looks like numbers or dates and is neither: addresses, versions, codes of digits, and values beyond a limit.

Numbers that are made of such text would have an order, or sums, that mean nothing.
"""

import re
from typing import NamedTuple

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
