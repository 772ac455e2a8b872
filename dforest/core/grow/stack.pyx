"""The nodes of a piece that are still to come, depth first, and subtrees of them that are given away.

A *piece* is what one grower grows of a tree in one go: see `dforest.core.grow.trunk`. Its nodes are looked at in preorder. The
stack holds the right siblings along the path to the node at hand, the one nearest to the root at the bottom, so it is as high as
the tree is deep, and the largest pending subtrees are mostly at the bottom. After the nodes 0, 1 and 2 of

                0
             /     \\
            1       6
           / \\     / \\
          2   5   7   8
         / \\
        3   4

have been looked at, the stack holds 6, 5, 4 and 3, of which 3 comes next. Given away are 6, then 5, and so on, as long as a
member of the team has nothing to do. A node that was given away stays on the stack; when its turn comes, the grower leaves a hole
there.

A stack belongs to one grower, and owns the memory of its places. A subtree that is given away is memory of its own, which belongs
to the team until a member takes it.
"""
cimport cython
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.grow.trunk cimport begin_piece, end_piece

cdef struct Subtree:               # what is given away; n_path_features of int32_t follow it in memory
    Trunk* trunk
    Place place                    # of its uppermost node
    Py_ssize_t n_path_features


@cython.final
cdef class Stack:
    """Nodes to come.

    Parameters
    ----------
    share_from : int
        Subtrees of fewer records are not given away.
    """

    def __cinit__(self, Py_ssize_t share_from):
        self.share_from = share_from

    def __dealloc__(self):
        free(self.places)

    cdef void give(self, Team team, Trunk* trunk, PathFeatures path, Block block) noexcept nogil:
        cdef Place* place
        cdef Subtree* subtree
        cdef Py_ssize_t n_path_features, end = block.first_inside(self.n), in_outer = self.n
        if block.outer is not None:
            in_outer = block.outer.first_inside(self.n)
        while self.n_offered < end and team.has_idle():
            place = &self.places[self.n_offered]
            if place.n < self.share_from or place.piece >= 0:
                self.n_offered += 1
                continue
            # What waits here hangs on the path to the node taken last, which is as deep at least.
            n_path_features = path.count_above(place.depth)
            subtree = <Subtree*> malloc(sizeof(Subtree) + n_path_features * sizeof(int32_t))
            if subtree == NULL:        # then it stays here
                return
            subtree.trunk = trunk
            subtree.place = place[0]
            subtree.n_path_features = n_path_features
            if n_path_features > 0:
                memcpy(subtree + 1, path.features, n_path_features * sizeof(int32_t))
            subtree.place.parent = -1
            subtree.place.is_right = False
            subtree.place.piece = begin_piece(trunk)
            place.piece = subtree.place.piece
            if self.n_offered >= in_outer:
                block.outer.release(trunk.records + place.first, place.n)
            if not team.offer(subtree):
                if self.n_offered >= in_outer:
                    block.outer.take_back(trunk.records + place.first, place.n)
                free(subtree)
                end_piece(trunk)
                place.piece = -1
                return
            self.n_offered += 1


cdef Trunk* take_subtree(void* offer, Place* place, PathFeatures path) noexcept nogil:
    cdef Subtree* subtree = <Subtree*> offer
    cdef const int32_t* path_features = <const int32_t*> (subtree + 1)
    cdef Trunk* trunk = subtree.trunk
    cdef Py_ssize_t i
    place[0] = subtree.place
    path.leave(-1)
    for i in range(subtree.n_path_features):
        path.add(path_features[i], -1)
    free(offer)
    return trunk
