"""The processor as a backend of devices: kernels that are part of dforest, run by its own threads.

This is what ranks without a GPU grow large nodes on. For whole forests the processor has an engine of its own, which is faster:
`dforest.engines.cpu`. What a backend is: see `dforest.engines.device`.
"""

from dforest.backends.host.device import HostDevice

__all__ = ["HostDevice"]
