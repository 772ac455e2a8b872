"""The best first split of a shallow tree that assigns actions to rows, by an exact search.

A *policy tree* of depth d gives each row the action of the leaf that it reaches, and is worth the sum of the rewards of these.
With V_0(S) the greatest sum of the rewards of one action over the rows of S,

    V_d(S) = max(V_{d-1}(S), max of V_{d-1}(L) + V_{d-1}(R) over the cuts of S into L and R)

(Z. Zhou, S. Athey, S. Wager, "Offline multi-action policy learning: generalization and optimization", Operations Research 71(1),
2023, which describes a search that takes some n**2 steps at depth 2). Of equal trees, the shallowest one counts, then that whose
feature has the lowest number, then that of the lowest cut. Rewards are integers, so sums depend on no order.

- Depth 1: sums of rewards by code, which are added up from the lowest code on.
- Depth 2, in n log n steps for each two features and actions: for a first cut at feature j, rows move from R to L in the order of
  j. The best cut of L at feature k that gives action a to its left side and b to its right one is worth the sum of b's rewards
  over L, and the largest prefix sum, in the order of k, of the differences between a's rewards and b's; with a and b exchanged,
  the least one counts. A *prefix tree*, a binary tree over the codes of k, has these, and takes a row in log n steps.
- Deeper: the cuts of a feature are tried one by one, each by a search for both sides. A row that moves to the other side adds to
  what a cut is worth at most its greatest reward less its least one, so that between two cuts that were tried there is a bound of
  what others can be worth. So it is where leaves of one row are allowed; if they are not, no cut is worth more than if they were.

Threads share the features of the root, each owns what it allocates, and all else is lent by the caller.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from dforest.core.threads cimport WorkerContext, parallel_for, poll

cdef extern from *:
    """
    /* Values that other threads write: see threads.pxd. */
    #define df_glance_long(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
    #define df_set_long(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
    """
    int64_t df_glance_long(int64_t x) nogil
    void df_set_long(int64_t x, int64_t value) nogil

cdef enum:
    ROW_WORK = 2              # nanoseconds or so to add a row to a sum
    STEP_WORK = 4             # and for a step in two prefix trees
    MAX_LEVELS = 64

cdef int64_t NOTHING = -(<int64_t> 1 << 62)    # less than what any tree is worth

cdef struct Rows:             # of a node
    Py_ssize_t n, n_features, n_actions
    int32_t* codes            # [n_features, n] places of values among those of the node, from 0 on
    int32_t* n_codes          # [n_features] different ones
    int64_t* rewards          # [n, n_actions]

cdef struct Split:
    int64_t value             # of the best tree below
    int32_t feature           # -1: there is none
    int32_t cut               # the last code on the left

cdef struct Extent:           # of a node of a prefix tree
    int64_t sum               # of its leaves
    int64_t highest           # of the sums of its first 1, 2, ... leaves
    int64_t lowest

cdef struct Walk:             # through the rows in the order of one feature, for a search of depth 2; arrays by place or by cut
    int32_t* order            # [n] rows
    int64_t* end              # [n_cuts] places behind the rows of the left side
    int64_t* left             # [n_cuts] the best found for the left side, and for the right one
    int64_t* right
    int32_t* codes            # [n] of the second feature
    int64_t* gain             # [n] rewards of one action less those of another
    int32_t* window           # [4, n_cuts] first and last cut allowed on the left, and on the right
    int64_t* count            # [codes of a feature, at most]
    int64_t* totals           # [2, n_actions]
    Extent* nodes             # [2 * leaves, 2] prefix trees of the left side and of the right one

cdef struct Span:             # cuts between two that were tried
    Py_ssize_t low, high
    int64_t at_low, at_high   # what these are worth, or more

cdef struct Search:           # what threads share
    Rows* rows
    Py_ssize_t depth, least
    int64_t floor             # what cuts must be worth more than
    Split* found              # [n_features]


cdef int refuse_memory() except -1 nogil:
    with gil:
        raise MemoryError()


cdef inline int64_t most(const int64_t* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t found = values[0]
    for i in range(1, n):
        found = max(found, values[i])
    return found


cdef void add_up(const Rows* rows, int64_t* totals) noexcept nogil:
    """Set the sums of rewards, [n_actions]."""
    cdef Py_ssize_t i, a, n_actions = rows.n_actions
    memset(totals, 0, n_actions * sizeof(int64_t))
    for i in range(rows.n):
        for a in range(n_actions):
            totals[a] += rows.rewards[i * n_actions + a]


# Depth 1

cdef int cut_once(const Rows* rows, Py_ssize_t j, Py_ssize_t least, Split* best, WorkerContext* worker) except -1 nogil:
    """Replace `best` by the first of the best cuts at feature j, if that is worth more."""
    cdef Py_ssize_t i, a, n_codes = rows.n_codes[j], n_actions = rows.n_actions
    cdef const int32_t* codes = rows.codes + j * rows.n
    cdef int64_t n_left = 0, value
    cdef int64_t* sums
    cdef int64_t* counts
    cdef int64_t* left
    cdef int64_t* right
    if n_codes < 2:
        return 0
    sums = <int64_t*> calloc(n_codes * (n_actions + 1) + 2 * n_actions, sizeof(int64_t))
    if sums == NULL:
        refuse_memory()
    counts = sums + n_codes * n_actions
    left, right = counts + n_codes, counts + n_codes + n_actions
    for i in range(rows.n):
        counts[codes[i]] += 1
        for a in range(n_actions):
            sums[codes[i] * n_actions + a] += rows.rewards[i * n_actions + a]
    for i in range(n_codes):
        for a in range(n_actions):
            right[a] += sums[i * n_actions + a]
    for i in range(n_codes - 1):
        n_left += counts[i]
        for a in range(n_actions):
            left[a] += sums[i * n_actions + a]
            right[a] -= sums[i * n_actions + a]
        if n_left < least or rows.n - n_left < least:
            continue
        value = most(left, n_actions) + most(right, n_actions)
        if value > best.value:
            best.value, best.feature, best.cut = value, <int32_t> j, <int32_t> i
    free(sums)
    return poll(worker, ROW_WORK * (rows.n + 2 * n_codes) * n_actions)


# Depth 2

cdef inline void join(Extent* node, const Extent* first, const Extent* second) noexcept nogil:
    node.sum = first.sum + second.sum
    node.highest = max(first.highest, first.sum + second.highest)
    node.lowest = min(first.lowest, first.sum + second.lowest)


cdef inline void add_to_leaf(Extent* leaf, int64_t value) noexcept nogil:
    leaf.sum += value
    leaf.highest = leaf.lowest = leaf.sum


cdef void join_all(Extent* nodes, Py_ssize_t n_leaves) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n_leaves - 1, 0, -1):
        join(&nodes[2 * i], &nodes[4 * i], &nodes[4 * i + 2])
        join(&nodes[2 * i + 1], &nodes[4 * i + 1], &nodes[4 * i + 3])


cdef inline void take_extent(const Extent* node, Extent* found) noexcept nogil:
    found.highest = max(found.highest, found.sum + node.highest)
    found.lowest = min(found.lowest, found.sum + node.lowest)
    found.sum += node.sum


cdef Extent extent_within(const Extent* nodes, Py_ssize_t n_leaves, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """The extreme sums of the first `first` + 1, ..., `last` + 1 leaves of a tree, whose nodes are every other one of `nodes`."""
    cdef Extent found
    cdef Py_ssize_t low = first + n_leaves, high = last + n_leaves + 1, i = low, n_later = 0
    cdef Py_ssize_t[MAX_LEVELS] later
    found.sum, found.highest, found.lowest = 0, NOTHING, -NOTHING
    while i > 1:                           # what lies before the first
        if i & 1:
            found.sum += nodes[2 * (i - 1)].sum
        i >>= 1
    while low < high:
        if low & 1:
            take_extent(&nodes[2 * low], &found)
            low += 1
        if high & 1:
            high -= 1
            later[n_later] = high
            n_later += 1
        low >>= 1
        high >>= 1
    while n_later > 0:
        n_later -= 1
        take_extent(&nodes[2 * later[n_later]], &found)
    return found


cdef void find_windows(const Walk* walk, Py_ssize_t n, Py_ssize_t n_cuts, Py_ssize_t n_codes, Py_ssize_t least,
                       bint of_right) noexcept nogil:
    """Set, for each first cut, which second cuts of one of its sides leave enough rows on both of theirs.

    Rows are added to the side one by one, so the first place with `least` rows up to it only moves to the left, and the last one
    with so many from it on to the right.
    """
    cdef int32_t* firsts = walk.window + (2 * n_cuts if of_right else 0)
    cdef int32_t* lasts = firsts + n_cuts
    cdef int64_t* count = walk.count
    cdef Py_ssize_t i, at, c, code, first = n_codes, last = -1, under = 0, over = 0
    memset(count, 0, n_codes * sizeof(int64_t))
    at = n - 1 if of_right else 0
    for i in range(n_cuts):
        c = n_cuts - 1 - i if of_right else i
        while at >= walk.end[c] if of_right else at < walk.end[c]:
            code = walk.codes[at]
            count[code] += 1
            under += code < first
            while under >= least:
                first -= 1
                under -= count[first]
            over += code > last
            while over >= least:
                last += 1
                over -= count[last]
            at += -1 if of_right else 1
        firsts[c] = <int32_t> first
        lasts[c] = <int32_t> (last - 1)


cdef inline void keep_best(Extent found, int64_t total_first, int64_t total_second, int64_t* best) noexcept nogil:
    """Of a side's second cuts, for two actions: the first one to the left and the second to the right, or the other way round."""
    best[0] = max(best[0], max(total_second + found.highest, total_first - found.lowest))


cdef int walk_for_pair(const Walk* walk, const Rows* rows, Py_ssize_t k, Py_ssize_t n_cuts, Py_ssize_t least, Py_ssize_t a,
                       Py_ssize_t b, WorkerContext* worker) except -1 nogil:
    """Look at all second cuts at feature k between actions a and b, for all first cuts."""
    cdef Py_ssize_t i, c, at, node, n_leaves = 1, n_levels = 1, n_actions = rows.n_actions, begin = 0
    cdef int64_t first_left = 0, second_left = 0, first_right = 0, second_right = 0
    cdef const int64_t* reward
    cdef Extent* nodes = walk.nodes
    cdef const int32_t* window = walk.window
    while n_leaves < rows.n_codes[k]:
        n_leaves *= 2
        n_levels += 1
    memset(nodes, 0, 4 * n_leaves * sizeof(Extent))
    for i in range(rows.n):
        reward = rows.rewards + walk.order[i] * n_actions
        walk.gain[i] = reward[a] - reward[b]
        first_right += reward[a]
        second_right += reward[b]
        add_to_leaf(&nodes[2 * (n_leaves + walk.codes[i]) + 1], walk.gain[i])
    join_all(nodes, n_leaves)
    for c in range(n_cuts):
        for at in range(begin, walk.end[c]):
            reward = rows.rewards + walk.order[at] * n_actions
            first_left += reward[a]
            first_right -= reward[a]
            second_left += reward[b]
            second_right -= reward[b]
            node = n_leaves + walk.codes[at]
            add_to_leaf(&nodes[2 * node], walk.gain[at])
            add_to_leaf(&nodes[2 * node + 1], -walk.gain[at])
        if (walk.end[c] - begin) * n_levels > n_leaves:
            join_all(nodes, n_leaves)
        else:
            for at in range(begin, walk.end[c]):
                node = (n_leaves + walk.codes[at]) >> 1
                while node > 0:
                    join(&nodes[2 * node], &nodes[4 * node], &nodes[4 * node + 2])
                    join(&nodes[2 * node + 1], &nodes[4 * node + 1], &nodes[4 * node + 3])
                    node >>= 1
        begin = walk.end[c]
        if least == 1:                     # all cuts are allowed: one that leaves a side without rows is none
            keep_best(nodes[2], first_left, second_left, &walk.left[c])
            keep_best(nodes[3], first_right, second_right, &walk.right[c])
            continue
        if window[c] <= window[n_cuts + c]:
            keep_best(extent_within(nodes, n_leaves, window[c], window[n_cuts + c]), first_left, second_left, &walk.left[c])
        if window[2 * n_cuts + c] <= window[3 * n_cuts + c]:
            keep_best(extent_within(nodes + 1, n_leaves, window[2 * n_cuts + c], window[3 * n_cuts + c]),
                      first_right, second_right, &walk.right[c])
    return poll(worker, STEP_WORK * rows.n * (n_levels + 2))


cdef void free_walk(Walk* walk) noexcept nogil:
    free(walk.order)
    free(walk.end)
    free(walk.codes)
    free(walk.gain)
    free(walk.window)
    free(walk.count)
    free(walk.nodes)


cdef int open_walk(Walk* walk, const Rows* rows, Py_ssize_t j) except -1 nogil:
    """Allocate the arrays of a walk in the order of feature j, and set those that depend on it alone."""
    cdef Py_ssize_t i, a, c, k, most_codes = 0, n_leaves = 1, n_cuts = rows.n_codes[j] - 1, n_actions = rows.n_actions
    cdef const int32_t* codes = rows.codes + j * rows.n
    cdef int64_t at, before
    memset(walk, 0, sizeof(Walk))
    for k in range(rows.n_features):
        most_codes = max(most_codes, <Py_ssize_t> rows.n_codes[k])
    while n_leaves < most_codes:
        n_leaves *= 2
    walk.order = <int32_t*> malloc(rows.n * sizeof(int32_t))
    walk.codes = <int32_t*> malloc(rows.n * sizeof(int32_t))
    walk.gain = <int64_t*> malloc(rows.n * sizeof(int64_t))
    walk.end = <int64_t*> malloc(3 * n_cuts * sizeof(int64_t))
    walk.window = <int32_t*> malloc(4 * n_cuts * sizeof(int32_t))
    walk.count = <int64_t*> calloc(most_codes + 2 * n_actions, sizeof(int64_t))
    walk.nodes = <Extent*> malloc(4 * n_leaves * sizeof(Extent))
    if (walk.order == NULL or walk.codes == NULL or walk.gain == NULL or walk.end == NULL or walk.window == NULL
            or walk.count == NULL or walk.nodes == NULL):
        free_walk(walk)
        refuse_memory()
    walk.left, walk.right, walk.totals = walk.end + n_cuts, walk.end + 2 * n_cuts, walk.count + most_codes
    for i in range(rows.n):
        walk.count[codes[i]] += 1
    at = 0
    for c in range(n_cuts + 1):            # now the places where the rows of a code begin
        before = walk.count[c]
        walk.count[c] = at
        at += before
        if c < n_cuts:
            walk.end[c] = at
    for i in range(rows.n):
        walk.order[walk.count[codes[i]]] = <int32_t> i
        walk.count[codes[i]] += 1
    add_up(rows, walk.totals + n_actions)
    at = 0
    for c in range(n_cuts):                # sides without a second cut
        while at < walk.end[c]:
            for a in range(n_actions):
                walk.totals[a] += rows.rewards[walk.order[at] * n_actions + a]
                walk.totals[n_actions + a] -= rows.rewards[walk.order[at] * n_actions + a]
            at += 1
        walk.left[c] = most(walk.totals, n_actions)
        walk.right[c] = most(walk.totals + n_actions, n_actions)
    return 0


cdef int cut_twice(const Rows* rows, Py_ssize_t j, Py_ssize_t least, Split* best, WorkerContext* worker) except -1 nogil:
    """Replace `best` by the first of the best cuts at feature j with up to one more cut on either side, if that is worth more."""
    cdef Py_ssize_t i, k, a, b, c, n_cuts = rows.n_codes[j] - 1
    cdef int64_t value
    cdef Walk walk
    if n_cuts < 1:
        return 0
    open_walk(&walk, rows, j)
    try:
        for k in range(rows.n_features):
            if rows.n_codes[k] < 2:
                continue
            for i in range(rows.n):
                walk.codes[i] = rows.codes[k * rows.n + walk.order[i]]
            if least > 1:
                find_windows(&walk, rows.n, n_cuts, rows.n_codes[k], least, False)
                find_windows(&walk, rows.n, n_cuts, rows.n_codes[k], least, True)
            for a in range(rows.n_actions):
                for b in range(a + 1, rows.n_actions):
                    walk_for_pair(&walk, rows, k, n_cuts, least, a, b, worker)
        for c in range(n_cuts):
            value = walk.left[c] + walk.right[c]
            if value > best.value and walk.end[c] >= least and rows.n - walk.end[c] >= least:
                best.value, best.feature, best.cut = value, <int32_t> j, <int32_t> c
    finally:
        free_walk(&walk)
    return 0


# Deeper

cdef void free_rows(Rows* rows) noexcept nogil:
    free(rows.codes)
    free(rows.n_codes)
    free(rows.rewards)


cdef int open_side(Rows* side, const Rows* rows, Py_ssize_t j, Py_ssize_t cut, bint is_right) except -1 nogil:
    """Make the rows on one side of a cut at feature j those of a node, which owns its arrays."""
    cdef Py_ssize_t i, k, n = 0, n_actions = rows.n_actions, most_codes = 0
    cdef const int32_t* codes = rows.codes + j * rows.n
    cdef const int32_t* own
    cdef int32_t* place
    cdef int32_t* chosen
    memset(side, 0, sizeof(Rows))
    for k in range(rows.n_features):
        most_codes = max(most_codes, <Py_ssize_t> rows.n_codes[k])
    for i in range(rows.n):
        n += (codes[i] > cut) == is_right
    side.n, side.n_features, side.n_actions = n, rows.n_features, n_actions
    side.codes = <int32_t*> malloc(n * rows.n_features * sizeof(int32_t))
    side.n_codes = <int32_t*> calloc(rows.n_features, sizeof(int32_t))
    side.rewards = <int64_t*> malloc(n * n_actions * sizeof(int64_t))
    chosen = <int32_t*> malloc((n + most_codes) * sizeof(int32_t))
    if side.codes == NULL or side.n_codes == NULL or side.rewards == NULL or chosen == NULL:
        free_rows(side)
        free(chosen)
        refuse_memory()
    place = chosen + n
    n = 0
    for i in range(rows.n):
        if (codes[i] > cut) == is_right:
            chosen[n] = <int32_t> i
            n += 1
    for i in range(n):
        for k in range(n_actions):
            side.rewards[i * n_actions + k] = rows.rewards[chosen[i] * n_actions + k]
    for k in range(rows.n_features):
        own = rows.codes + k * rows.n
        memset(place, 0, rows.n_codes[k] * sizeof(int32_t))
        for i in range(n):
            place[own[chosen[i]]] = 1
        for i in range(rows.n_codes[k]):
            if place[i]:
                place[i] = side.n_codes[k]
                side.n_codes[k] += 1
        for i in range(n):
            side.codes[k * n + i] = place[own[chosen[i]]]
    free(chosen)
    return 0


cdef int try_cut(const Rows* rows, Py_ssize_t j, Py_ssize_t cut, Py_ssize_t depth, Py_ssize_t least, int64_t* value,
                 WorkerContext* worker) except -1 nogil:
    """Set what a cut is worth with trees of depth `depth` on both sides; `NOTHING` if a side has too few rows."""
    cdef int is_right
    cdef Rows side
    cdef Split own
    value[0] = 0
    for is_right in range(2):
        open_side(&side, rows, j, cut, is_right)
        try:
            if side.n < least:
                value[0] = NOTHING
                return 0
            find_best(&side, depth, least, &own, worker)
        finally:
            free_rows(&side)
        value[0] += own.value
    return 0


cdef int64_t best_elsewhere(const Search* search) noexcept nogil:
    """The most that a cut of any feature is known to be worth."""
    cdef Py_ssize_t j
    cdef int64_t found = search.floor
    for j in range(search.rows.n_features):
        found = max(found, df_glance_long(search.found[j].value))
    return found


cdef int cut_often(const Search* search, Py_ssize_t j, Split* best, WorkerContext* worker) except -1 nogil:
    """Replace `best` by the first of the best cuts at feature j with deeper trees on both sides, if that is worth more."""
    cdef const Rows* rows = search.rows
    cdef Py_ssize_t i, a, c, n_codes = rows.n_codes[j], n_spans = 0, below = search.depth - 1, middle
    cdef const int32_t* codes = rows.codes + j * rows.n
    cdef const int64_t* reward
    cdef int64_t lowest, bound, value, loose
    cdef Split own
    cdef Span span
    cdef Span[2 * MAX_LEVELS] spans
    cdef int64_t* change                   # [1 + n_codes] by how much rows of the codes before change what a cut is worth
    if n_codes < 2:
        return 0
    change = <int64_t*> calloc(1 + n_codes, sizeof(int64_t))
    if change == NULL:
        refuse_memory()
    try:
        for i in range(rows.n):
            reward = rows.rewards + i * rows.n_actions
            lowest = reward[0]
            for a in range(1, rows.n_actions):
                lowest = min(lowest, reward[a])
            change[1 + codes[i]] += most(reward, rows.n_actions) - lowest
        for c in range(n_codes):
            change[1 + c] += change[c]
        find_best(rows, below, 1, &own, worker)    # of cuts with all rows on one side
        spans[0].low, spans[0].high, spans[0].at_low, spans[0].at_high = -1, n_codes - 1, own.value, own.value
        n_spans = 1
        while n_spans > 0:
            n_spans -= 1
            span = spans[n_spans]
            if span.high - span.low < 2:
                continue
            # Two floors, of which the lower one counts, are not above their mean. Halved before they are added: sums are large.
            bound = (span.at_low >> 1) + (span.at_high >> 1) + (span.at_low & span.at_high & 1)
            bound += (change[1 + span.high] - change[1 + span.low] + 1) >> 1
            if bound < best.value or (bound == best.value and span.low >= best.cut) or bound < best_elsewhere(search):
                continue
            middle = (span.low + span.high) >> 1
            try_cut(rows, j, middle, below, 1, &loose, worker)
            value = loose
            if value > best.value or (value == best.value and middle < best.cut):
                if search.least > 1:
                    try_cut(rows, j, middle, below, search.least, &value, worker)
                if value > best.value or (value == best.value and middle < best.cut):
                    best.feature, best.cut = <int32_t> j, <int32_t> middle
                    df_set_long(best.value, value)
            spans[n_spans].low, spans[n_spans].high = middle, span.high
            spans[n_spans].at_low, spans[n_spans].at_high = loose, span.at_high
            n_spans += 1
            spans[n_spans].low, spans[n_spans].high = span.low, middle
            spans[n_spans].at_low, spans[n_spans].at_high = span.at_low, loose
            n_spans += 1
    finally:
        free(change)
    return 0


# All depths

cdef int cut_feature(const Search* search, Py_ssize_t j, WorkerContext* worker) except -1 nogil:
    """Set what is found at a feature by trees of exactly this depth."""
    cdef Split* best = &search.found[j]
    best.feature = best.cut = -1
    df_set_long(best.value, search.floor)
    if search.depth == 1:
        return cut_once(search.rows, j, search.least, best, worker)
    if search.depth == 2:
        return cut_twice(search.rows, j, search.least, best, worker)
    return cut_often(search, j, best, worker)


cdef void take_best(const Search* search, Split* best) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(search.rows.n_features):
        if search.found[j].value > best.value:
            best[0] = search.found[j]


cdef int64_t set_leaf(const Rows* rows, Split* best) except? -1 nogil:
    """Set what the rows are worth as a leaf; returns what no tree is worth more than, each row having its best action."""
    cdef Py_ssize_t i
    cdef int64_t ceiling = 0
    cdef int64_t* totals = <int64_t*> malloc(rows.n_actions * sizeof(int64_t))
    if totals == NULL:
        refuse_memory()
    add_up(rows, totals)
    best.value, best.feature, best.cut = most(totals, rows.n_actions), -1, -1
    free(totals)
    for i in range(rows.n):
        ceiling += most(rows.rewards + i * rows.n_actions, rows.n_actions)
    return ceiling


cdef int find_best(const Rows* rows, Py_ssize_t depth, Py_ssize_t least, Split* best, WorkerContext* worker) except -1 nogil:
    """The best first split of trees of at most this depth, by one thread."""
    cdef Search search
    cdef Py_ssize_t d, j
    cdef int64_t ceiling = set_leaf(rows, best)
    search.rows, search.least = <Rows*> rows, least
    search.found = <Split*> malloc(rows.n_features * sizeof(Split))
    if search.found == NULL:
        refuse_memory()
    try:
        for d in range(1, depth + 1):
            if best.value == ceiling:
                break
            search.depth, search.floor = d, best.value
            for j in range(rows.n_features):
                search.found[j].value = NOTHING
            for j in range(rows.n_features):
                cut_feature(&search, j, worker)
            take_best(&search, best)
    finally:
        free(search.found)
    return 0


cdef int do_feature(void* context, Py_ssize_t j, WorkerContext* worker) except -1 nogil:
    return cut_feature(<Search*> context, j, worker)


def best_split(const int32_t[:, ::1] codes not None, const int32_t[::1] n_codes not None, const int64_t[:, ::1] rewards not None,
               Py_ssize_t depth, Py_ssize_t least, int n_threads):
    """The first split of the best policy tree of some rows.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows), dtype int32
        For each feature, numbers of the rows' values: 0, 1, ... in ascending order, each of which a row has.
    n_codes : ndarray of shape (n_features,), dtype int32
        How many there are.
    rewards : ndarray of shape (n_rows, n_actions), dtype int64
        The magnitudes of those of an action add up to less than 2**61.
    depth : int
        How deep the tree may be, from 0 on.
    least : int
        Least number of rows in a leaf, from 1 on.
    n_threads : int

    Returns
    -------
    value : int
        What the best tree is worth.
    feature, cut : int
        Its first split, and the last code on the left; -1 if it is a leaf.
    """
    cdef Rows rows
    cdef Search search
    cdef Split best
    cdef Py_ssize_t j, d
    cdef int64_t ceiling
    cdef double n_pairs, work
    rows.n, rows.n_features, rows.n_actions = codes.shape[1], codes.shape[0], rewards.shape[1]
    if rows.n == 0 or rows.n_features == 0 or rewards.shape[0] != rows.n or n_codes.shape[0] != rows.n_features or least < 1:
        raise ValueError(f"{rows.n_features} features and {rows.n} rows with {rewards.shape[0]} rewards, least={least}")
    rows.codes, rows.n_codes, rows.rewards = <int32_t*> &codes[0, 0], <int32_t*> &n_codes[0], <int64_t*> &rewards[0, 0]
    ceiling = set_leaf(&rows, &best)
    search.rows, search.least = &rows, least
    search.found = <Split*> malloc(rows.n_features * sizeof(Split))
    if search.found == NULL:
        raise MemoryError()
    n_pairs = rows.n_features * rows.n_actions * (rows.n_actions - 1) / 2
    work = <double> rows.n_features * rows.n
    try:
        for d in range(1, depth + 1):
            if best.value == ceiling:
                break
            work *= 1.0 if d == 1 else 20.0 * STEP_WORK * n_pairs if d == 2 else <double> rows.n * rows.n_features
            search.depth, search.floor = d, best.value
            for j in range(rows.n_features):
                search.found[j].value = NOTHING
            parallel_for(do_feature, &search, rows.n_features, n_threads, work)
            take_best(&search, &best)
    finally:
        free(search.found)
    return best.value, best.feature, best.cut
