"""What leaves add to predictions: the rows of a table, or of lists of classes, whichever they are handed in as.

Sums of shares are the same to the bit, as all shares that are not listed are 0, and no share is below 0. `LeafValues` borrow the
arrays, and keep them alive.
"""
from dforest.core.class_lists import ClassLists


cdef class LeafValues:
    """What leaves add.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns), dtype float64, or ClassLists
    """

    def __cinit__(self, values):
        self.is_listed = isinstance(values, ClassLists)
        self.n, self.n_columns = values.shape
        if self.is_listed:
            self.starts, self.classes, self.numbers = values.starts, values.classes, values.values
        else:
            self.table = values
