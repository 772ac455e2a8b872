"""The nodes of a piece that are still to come, depth first: see stack.pyx."""
cimport cython

from dforest.core.grow.block cimport Block
from dforest.core.grow.buffers cimport ensure_room
from dforest.core.grow.path_features cimport PathFeatures
from dforest.core.grow.place cimport Place
from dforest.core.grow.team cimport Team
from dforest.core.grow.trunk cimport Trunk

cdef enum:
    SHARE_FROM = 2000              # records of a subtree that is worth giving away, by default


@cython.final
cdef class Stack:
    cdef Place* places             # [n] the node that comes next is the last one
    cdef Py_ssize_t n, room
    cdef Py_ssize_t n_offered      # nodes from the bottom of the stack that were given away, or are too small for it
    cdef Py_ssize_t share_from     # subtrees of fewer records are not given away

    cdef inline int begin(self, const Place* root) except -1 nogil:
        """Begin a piece, with the node that it has above all others."""
        ensure_room(<void**> &self.places, &self.room, 1, sizeof(Place))
        self.places[0] = root[0]
        self.n = 1
        self.n_offered = 0
        return 0

    cdef inline int push(self, const Place* left, const Place* right) except -1 nogil:
        """Have two children come next, the left one first."""
        ensure_room(<void**> &self.places, &self.room, self.n + 2, sizeof(Place))
        self.places[self.n] = right[0]
        self.places[self.n + 1] = left[0]
        self.n += 2
        return 0

    cdef inline void pop(self, Place* out) noexcept nogil:
        """Take the node that comes next."""
        self.n -= 1
        self.n_offered = min(self.n_offered, self.n)
        out[0] = self.places[self.n]

    # Give pending subtrees to idle members of a team, those nearest to the root first; but none in the subtree that the block
    # has, unless that is an outer one.
    # IN path : the features on the path to the node taken last, if somebody asks for them
    cdef void give(self, Team team, Trunk* trunk, PathFeatures path, Block block) noexcept nogil


# Take a subtree that was given away, which ends it; return its trunk. OUT place : where its uppermost node stands, in the piece
# whose number is place.piece. OUT path : the features on the path to it
cdef Trunk* take_subtree(void* offer, Place* place, PathFeatures path) noexcept nogil
