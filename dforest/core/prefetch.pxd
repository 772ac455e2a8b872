"""Memory asked for before it is needed: it comes while other work is done."""

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define df_prefetch(address) __builtin_prefetch(address)
    #else
    #define df_prefetch(address) ((void)(address))
    #endif
    """
    # Any address will do: nothing happens if nothing is there. A compiler leaves out calls of a function of which it sees
    # that it does nothing else: such a function must not be inline.
    void df_prefetch(const void* address) nogil
