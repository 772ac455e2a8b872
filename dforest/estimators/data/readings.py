"""Text of dates and of amounts as numbers in the same order, so that a tree can cut them.

What is ambiguous in a text alone is decided by all texts of a column.
"""

import re

import numpy as np

_DATE = re.compile(r"\s*(\d+)[-/.](\d+)[-/.](\d+)(.*)", re.DOTALL)
_SIGNS = re.compile(r"[^\d.,]")
_NEGATIVE = re.compile(r"\D*[-(\N{MINUS SIGN}]")


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
    numbers = [_SIGNS.sub("", text).strip(".,") for text in texts]
    decimal = next((sign for sign in ".," if _is_decimal(sign, numbers)), None)
    for sign in ".,":
        numbers = [number.replace(sign, "." if sign == decimal else "") for number in numbers]
    factors = [-1 if _NEGATIVE.match(text) else 1 for text in texts]
    return np.array(factors) * np.array(list(map(float, numbers)))


def _is_decimal(sign, numbers):
    """Whether a sign is the last one wherever it is, is never there twice, and does not always stand before three digits."""
    tails = [number.split(sign) for number in numbers if sign in number]
    return all(len(parts) == 2 and parts[1].isdigit() for parts in tails) and any(len(parts[1]) != 3 for parts in tails)


READERS = {"dates": dates_of, "amounts": amounts_of}
