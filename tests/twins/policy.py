"""The naive twin of policy trees (`core/policy.pyx`): all trees are tried, with Python's integers.

A tree is a leaf, ``(action,)``, or a split, ``(feature, threshold, left, right)``.
"""


def cuts_of(X, rows, feature, may_cut):
    """(left rows, right rows, threshold) of each cut of some rows, from the lowest on."""
    values = sorted({X[i][feature] for i in rows})
    for low, high in zip(values, values[1:], strict=False):
        if may_cut(feature, low, high):
            left = [i for i in rows if X[i][feature] <= low]
            yield left, [i for i in rows if X[i][feature] > low], (low + high) / 2


def best_tree(X, rewards, rows, depth, least, may_cut=lambda feature, low, high: True):
    """(its value, the tree): of equal ones the shallowest, then that with the lowest feature, then the lowest cut.

    X, rewards : lists of rows, the rewards integers; may_cut : whether a cut between two neighbouring values is considered
    """
    sums = [sum(rewards[i][a] for i in rows) for a in range(len(rewards[0]))]
    best = max(sums), (sums.index(max(sums)),)
    for d in range(1, depth + 1):
        found = best
        for feature in range(len(X[0])):
            for left, right, threshold in cuts_of(X, rows, feature, may_cut):
                if min(len(left), len(right)) < least:
                    continue
                on_left = best_tree(X, rewards, left, d - 1, least, may_cut)
                on_right = best_tree(X, rewards, right, d - 1, least, may_cut)
                if on_left[0] + on_right[0] > found[0]:
                    found = on_left[0] + on_right[0], (feature, threshold, on_left[1], on_right[1])
        best = found
    return best
