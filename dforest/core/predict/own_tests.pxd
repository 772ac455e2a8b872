from dforest.core.predict.walk cimport Descent, df_packed
from dforest.core.search.splitter cimport Splitter


cdef int walk_tests(const df_packed* forest, Py_ssize_t t, Splitter splitter, const Descent* down) except -1 nogil
