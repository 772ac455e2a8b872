"""What `verbose` shows of a fit or a report: a line that is written anew in a terminal, and lines one after another elsewhere."""

import sys
from time import perf_counter

_SECONDS_BETWEEN = 0.1  # of what is written anew


class ProgressLine:
    """Tells on the error stream how many trees there are, how much time is left, and the out-of-bag error.

    Parameters
    ----------
    n_wanted : int
        How many trees there will be.
    verbose : int
        From 1; above it, each tree gets a line of its own.
    noun : str, default="trees"
        What is counted instead.
    """

    def __init__(self, n_wanted, verbose, noun="trees"):
        self._n_wanted, self._noun = n_wanted, noun
        self._is_live = verbose == 1 and sys.stderr.isatty()
        self._every = 1 if verbose > 1 or self._is_live else max(1, n_wanted // 10)
        self._shown = 0  # how long the live line is
        self._next = 0.0  # when it may be written again
        self._n_first = self._began = None

    def begin(self, n_trees):
        """Growing begins, with some trees that are there before."""
        self._n_first, self._began = n_trees, perf_counter()

    def tell(self, n_trees, error=None):
        """Another tree is there: how many there are, and their out-of-bag error, if it is known."""
        is_last = n_trees == self._n_wanted
        if n_trees % self._every and not is_last:
            return
        now = perf_counter()
        if self._is_live and now < self._next and not is_last:
            return
        self._next = now + _SECONDS_BETWEEN
        line = f"{n_trees} of {self._n_wanted} {self._noun}"
        if not is_last:
            left = (now - self._began) / (n_trees - self._n_first) * (self._n_wanted - n_trees)
            line += f", {_duration(left)} left"
        if error is not None:
            line += f", out-of-bag error {error:.6g}"
        if self._is_live:
            print(f"\r{line:<{self._shown}}", end="", file=sys.stderr, flush=True)
            self._shown = len(line)
        else:
            print(line, file=sys.stderr)

    def end(self):
        """Growing has ended."""
        if self._shown:
            print(file=sys.stderr)
            self._shown = 0


def _duration(seconds):
    """Some seconds as people write them: 3.2 s, 4:05 or 2:00:00."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
