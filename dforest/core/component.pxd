"""What splitters, criteria and losses have in common: their own parameters, and the contract they were compiled against.

CONTRACT is the version of the contracts in splitter.pxd, criterion.pxd, boost/loss.pxd and whatever these use. It goes
up with every change that a subclass compiled before would not survive. Code compiled elsewhere carries
the number it was compiled with, and says so once, in the module that defines the classes:

    from dforest.core.component cimport CONTRACT
    from dforest.core.component import declare_contract

    declare_contract(__name__, CONTRACT)

`declare_contract` raises ImportError where the installed dforest has another CONTRACT. Without the call no object is made.
"""

cdef enum:
    CONTRACT = 11


cdef class Component:
    cdef readonly bint is_built_in      # its class is dforest's own: no subclass from elsewhere
