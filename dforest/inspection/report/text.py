"""Text for a page: without characters that it can't hold, shortened, and about how wide it is."""

import re
from unicodedata import east_asian_width

_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Widths of letters in sans-serif fonts, in font sizes; a little too wide rather than too narrow.
_WIDTHS = dict.fromkeys("iljI.,:;'|! ", 0.34) | dict.fromkeys('ft()[]r-/"', 0.41) | dict.fromkeys("mwMW@%…→≤−", 0.92)


def clean(text, spaces=False):
    """Text on one line, without the characters that XML can't hold; runs of spaces become one unless they are kept."""
    text = str(text)
    return _NO_TEXT.sub("\ufffd", text if spaces else " ".join(text.split()))


def shortened(text, most):
    """The beginning and the end of a text of more characters than that, with an ellipsis between them."""
    text = clean(text)
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def width_of(text, size):
    """About how wide a line of text is in a font of some size, in the unit of the size."""

    def letter(one):
        if one in _WIDTHS:
            return _WIDTHS[one]
        return 1.05 if east_asian_width(one) in "WF" else 0.72 if one.isupper() else 0.63

    return size * sum(map(letter, text))
