"""The nodes of a tree grown best first: those that may be split wait in a heap.

Words: a *candidate* is a node whose best split is known, or that has none. Candidates are numbered in order of creation, so both
children of one come together, the left one first. The *heap* holds the numbers of the candidates that can be split: the one of
highest score first, of equal scores the one that comes first in preorder. Once the tree is grown, all candidates are gone through
in preorder, with the heap's memory as a stack.

A frontier belongs to one grower and owns its buffers, which it uses again for the next tree.
"""
cimport cython
from libc.stdlib cimport free

from dforest.core.grow.buffers cimport append_words, ensure_room


@cython.final
cdef class Frontier:
    """Candidates of one tree, and the heap of those to be split.

    Parameters
    ----------
    n_judged : int
        Numbers of a judgement: see `dforest.core.grow.judge`.
    """

    def __cinit__(self, Py_ssize_t n_judged):
        self.n_judged = n_judged

    def __dealloc__(self):
        free(self.candidates)
        free(self.heap)
        free(self.judgements)
        free(self.payloads.words)

    cdef void clear(self) noexcept nogil:
        self.n_candidates = self.n_heap = self.payloads.n = 0

    cdef Py_ssize_t add(self, const Place* place) except -1 nogil:
        """Make a candidate of a node, a leaf so far; return its number. Pointers to other candidates may be invalid then."""
        cdef Py_ssize_t number = self.n_candidates
        cdef Candidate* candidate
        ensure_room(<void**> &self.candidates, &self.candidate_room, number + 1, sizeof(Candidate))
        self.n_candidates += 1
        candidate = &self.candidates[number]
        candidate.place = place[0]
        candidate.left = candidate.payload_at = candidate.last_new = -1
        if place.parent >= 0:
            candidate.last_new = self.candidates[place.parent].last_new
            if not place.is_right:
                self.candidates[place.parent].left = number
        return number

    cdef double* judgement(self, Py_ssize_t number) except NULL nogil:
        ensure_room(<void**> &self.judgements, &self.judgement_room, number + 1, self.n_judged * sizeof(double))
        return self.judgements + number * self.n_judged

    cdef void lend_payload(self, Candidate* candidate) noexcept nogil:
        """Point to where the payload of a candidate's split lies now."""
        if candidate.split.feature >= 0 and candidate.payload_at >= 0:
            candidate.split.payload = self.payloads.words + candidate.payload_at

    cdef int push(self, Py_ssize_t number, double score, bint uses_new_feature) except -1 nogil:
        """Put a candidate into the heap, once its split is set, whose payload is the splitter's until its next call.

        IN score : of the split, comparable between nodes
        IN uses_new_feature : no split on the path to the candidate uses the feature that its split uses
        """
        cdef Candidate* candidate = &self.candidates[number]
        cdef Py_ssize_t at = self.n_heap, above
        candidate.score = score
        if uses_new_feature:
            candidate.last_new = number
        if candidate.split.payload != NULL:
            candidate.payload_at = self.payloads.n
            append_words(&self.payloads, candidate.split.payload, candidate.split.n_payload_words)
        ensure_room(<void**> &self.heap, &self.heap_room, self.n_heap + 1, sizeof(Py_ssize_t))
        self.n_heap += 1
        while at > 0:                          # the place `at` is free; its parent may have to move down
            above = (at - 1) // 2
            if not self.goes_before(number, self.heap[above]):
                break
            self.heap[at] = self.heap[above]
            at = above
        self.heap[at] = number
        return 0

    cdef Py_ssize_t pop(self) noexcept nogil:
        """Take the best candidate off the heap; return its number."""
        cdef Py_ssize_t best = self.heap[0], last, at = 0, below
        self.n_heap -= 1
        last = self.heap[self.n_heap]
        while 2 * at + 1 < self.n_heap:        # the place `at` is free; a child may have to move up
            below = 2 * at + 1
            if below + 1 < self.n_heap and self.goes_before(self.heap[below + 1], self.heap[below]):
                below += 1
            if not self.goes_before(self.heap[below], last):
                break
            self.heap[at] = self.heap[below]
            at = below
        self.heap[at] = last
        self.lend_payload(&self.candidates[best])
        return best

    cdef int begin_preorder(self) except -1 nogil:
        """Begin to go through all candidates in preorder. What is left in the heap stays leaves."""
        ensure_room(<void**> &self.heap, &self.heap_room, self.n_candidates, sizeof(Py_ssize_t))
        self.heap[0] = 0                       # from here on a stack of those to come, the next one last
        self.n_heap = 1
        return 0

    cdef Candidate* next_in_preorder(self, Py_ssize_t* number) noexcept nogil:
        """The next candidate, whose `put_children` comes before the next call if it has some; NULL: there is none.

        OUT number : the candidate's
        """
        cdef Candidate* candidate
        if self.n_heap == 0:
            return NULL
        self.n_heap -= 1
        number[0] = self.heap[self.n_heap]
        candidate = &self.candidates[number[0]]
        self.lend_payload(candidate)
        return candidate

    cdef void put_children(self, const Candidate* candidate, Py_ssize_t number) noexcept nogil:
        """Have a candidate's children come next in preorder, given the number of the node that was written for it."""
        cdef Py_ssize_t left = candidate.left
        self.candidates[left].place.parent = self.candidates[left + 1].place.parent = number
        self.heap[self.n_heap] = left + 1
        self.heap[self.n_heap + 1] = left
        self.n_heap += 2

    cdef bint goes_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Whether a candidate is to be split before another one."""
        cdef double x = self.candidates[a].score, y = self.candidates[b].score
        return x > y or (x == y and self.stands_before(a, b))

    cdef bint stands_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Whether a comes before b in preorder; neither is below the other."""
        cdef bint a_is_right = False
        while self.candidates[a].place.depth > self.candidates[b].place.depth:
            a = self.candidates[a].place.parent
        while self.candidates[b].place.depth > self.candidates[a].place.depth:
            b = self.candidates[b].place.parent
        while a != b:
            a_is_right = self.candidates[a].place.is_right
            a = self.candidates[a].place.parent
            b = self.candidates[b].place.parent
        return not a_is_right

    cdef void recall_path(self, Py_ssize_t parent, PathFeatures path) noexcept nogil:
        """Find the features on the path to a child of a candidate. OUT path : in order of first use, at depths of -1"""
        cdef Py_ssize_t number = self.candidates[parent].last_new, above
        path.leave(-1)
        while number >= 0:                     # the splits of these candidates use different features
            path.add(self.candidates[number].split.feature, -1)
            above = self.candidates[number].place.parent
            number = self.candidates[above].last_new if above >= 0 else -1
        path.reverse()
