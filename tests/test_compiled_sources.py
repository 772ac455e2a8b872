"""What the sources of compiled modules keep to, as Cython's directives for all of them ask for."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "dforest"  # the sources, which are not all installed
NEGATIVE = re.compile(r"[\w\])]\[-\d+\]")


def test_no_index_is_negative():
    """Without wraparound, an index below 0 is a fault: of arrays known to Cython always, of others from Python 3.15 on."""
    assert NEGATIVE.search("starts[-1]") and not NEGATIVE.search("np.array([-1, 0])") and not NEGATIVE.search("a[-1:]")
    sources = sorted(PACKAGE.rglob("*.pyx"))
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NEGATIVE.search(line.split("#")[0])
    ]
    assert len(sources) > 50 and not found
