"""The bootstrap: exactly multinomial, and that of the naive twin."""

import numpy as np
import pytest
from scipy import stats

from dforest.core.rows import bootstrap_counts
from dforest.testing import naive

# One row, one block, a block's border on either side, several blocks, none of them a power of two.
SIZES = [1, 2, 37, 4095, 4096, 4097, 8192, 12289, 20000]


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_counts_are_those_of_the_twin(n_rows, share):
    n_draws = max(1, int(n_rows * share))
    counts = bootstrap_counts(n_rows, n_draws, 4234567890)
    assert counts.sum() == n_draws
    np.testing.assert_array_equal(counts, naive.bootstrap_counts(n_rows, n_draws, 4234567890))


def seeds_of_trees(n_trees, seed):
    return np.random.default_rng(seed).integers(2**32, size=n_trees).tolist()


def counts_of_trees(n_rows, n_draws, n_trees, seed):
    seeds = seeds_of_trees(n_trees, seed)
    return np.stack([bootstrap_counts(n_rows, n_draws, tree) for tree in seeds]).astype(np.int64)


@pytest.mark.parametrize("n_rows, n_draws", [(7, 7), (4097, 4097), (4096, 1000), (9001, 20000), (12288, 12288)])
def test_every_row_is_as_likely(n_rows, n_draws):
    """The sums over trees are multinomial with equal shares; rows are grouped to have enough in each cell."""
    counts = counts_of_trees(n_rows, n_draws, 200, 1).sum(axis=0)
    cells = np.array_split(counts, min(n_rows, 500))
    observed = np.array([c.sum() for c in cells])
    expected = np.array([len(c) for c in cells]) * counts.sum() / n_rows
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    # Neighbours of block borders in particular.
    borders = np.arange(4096, n_rows, 4096)
    if len(borders):
        near = np.concatenate([counts[borders - 1], counts[borders], counts[-1:], counts[:1]])
        z = (near - counts.sum() / n_rows) / np.sqrt(counts.sum() / n_rows)
        assert np.abs(z).max() < 5


@pytest.mark.parametrize("n_rows, n_draws", [(5, 5), (4096, 4096), (4100, 4100), (10000, 3000)])
def test_counts_of_one_row_are_binomial(n_rows, n_draws):
    counts = counts_of_trees(n_rows, n_draws, max(30, 200000 // n_rows), 2).ravel()
    most = 6
    observed = np.bincount(np.minimum(counts, most), minlength=most + 1)
    probability = stats.binom.pmf(np.arange(most), n_draws, 1 / n_rows)
    expected = len(counts) * np.append(probability, 1 - probability.sum())
    cells = expected > 5
    observed = np.append(observed[cells], observed[~cells].sum())
    expected = np.append(expected[cells], expected[~cells].sum())
    positive = expected > 1e-9
    # Counts of a tree sum to n_draws, which makes the statistic smaller, not larger.
    observed, expected = observed[positive], expected[positive]
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


def test_groups_of_rows_covary_as_a_multinomial():
    """Whole blocks, halves of blocks and the short last one: means, variances and covariances of their draws."""
    n_rows, n_trees = 4096 * 3 + 1000, 4000
    borders = [0, 2048, 4096, 8192, 12288, n_rows]
    seeds = seeds_of_trees(n_trees, 5)
    groups = np.stack([np.add.reduceat(bootstrap_counts(n_rows, n_rows, tree), borders[:-1]) for tree in seeds])
    share = np.diff(borders) / n_rows
    covariance = n_rows * (np.diag(share) - np.outer(share, share))
    mean = groups.mean(axis=0)
    assert np.all(np.abs(mean - n_rows * share) < 4.5 * np.sqrt(np.diag(covariance) / n_trees))
    observed = np.cov(groups.astype(float), rowvar=False)
    error = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / n_trees)
    assert np.all(np.abs(observed - covariance) < 4.5 * error)


def test_pairs_of_rows_covary_as_a_multinomial():
    n, n_trees = 6, 40000
    counts = counts_of_trees(n, n, n_trees, 9)
    covariance = n * (np.eye(n) / n - np.full((n, n), 1 / n**2))
    variance = np.diag(covariance)[0]
    assert np.abs(np.cov(counts, rowvar=False) - covariance).max() < 5 * variance * np.sqrt(2 / n_trees) * 1.5
    # The chi-square statistic of each tree's counts, over all of its values: the exact distribution's mean.
    statistic = ((counts - 1.0) ** 2).sum(axis=1)
    assert abs(statistic.mean() - (n - 1)) < 5 * np.sqrt(2 * (n - 1) / n_trees)


def test_seeds_differ():
    first = bootstrap_counts(5000, 5000, 1)
    assert (first != bootstrap_counts(5000, 5000, 2)).any()
    assert (first == bootstrap_counts(5000, 5000, 1)).all()
    for n_rows, n_draws in [(0, 1), (1, 0)]:
        with pytest.raises(ValueError, match="cannot draw"):
            bootstrap_counts(n_rows, n_draws, 0)
