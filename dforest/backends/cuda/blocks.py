"""Small arrays in the memory of a GPU, which share blocks of it.

To take memory, to copy to it and to give it back costs the driver the same whether there is much of it or little, and a fit has
thousands of small arrays. So an array takes the next bytes of a *block*, and what arrays are to hold at first is collected in a
*mirror*, which is as large, and copied together before the device does anything else. A block ends with the last array in it; but
while somebody is at work on the device, the block that has room left stays.
"""

from threading import Lock
from weakref import ref

import numpy as np

from dforest.backends.cuda.driver import call, check_process

SMALL_BYTES = 1 << 16  # of arrays that share blocks
_BLOCK_BYTES = 1 << 20
_ALIGNMENT = 256  # bytes


class Blocks:
    """The small arrays of a device, which own their blocks. It owns the mirror.

    Parameters
    ----------
    device : CudaDevice
    """

    def __init__(self, device):
        self._device, self._lock = device, Lock()
        self._addresses = {}  # of blocks, by the weak references to them, which are empty before the memory is given back
        self._block, self._end = lambda: None, 0  # the one with room left, by a weak reference, and how much of it is taken
        self._kept = None  # the same while somebody is at work
        self._mirror = np.empty(_BLOCK_BYTES, np.uint8)
        self._from, self._to = 0, 0  # what of the mirror has to be copied

    def place(self, n_bytes, content=None):
        """Memory for an array of up to `SMALL_BYTES`.

        Parameters
        ----------
        n_bytes : int
        content : ndarray, optional
            C-contiguous.

        Returns
        -------
        object, int
            What owns the memory, and its address.
        """
        check_process()
        with self._lock:
            block = self._block()
            if block is None or self._end + n_bytes > _BLOCK_BYTES:
                block = self._begin()
            first, end = self._end, self._end + n_bytes
            self._end = end + -end % _ALIGNMENT
            if content is not None and n_bytes:
                self._mirror[first:end] = content.reshape(-1).view(np.uint8)
                # What lies between this and others that have not been copied is not in use yet: whoever uses memory copies first.
                self._from, self._to = self._from if self._from < self._to else first, end
            return block, block.address + first

    def _begin(self):
        """Begin a new block."""
        block = _Block(self._device.allocate(_BLOCK_BYTES, True))
        reference = ref(block, self._give_back)
        self._addresses[reference] = block.address
        with self._device.at_work("a copy to the device", flushes=False):
            self._flush()
            if self._device.reads_host:
                call("cuStreamSynchronize", self._device.stream)  # which may still read the mirror
        self._block, self._end = reference, 0
        self._kept = block if self._device.is_at_work else None
        return block

    def _give_back(self, reference):
        self._device.free(self._addresses.pop(reference), True)

    def rest(self):
        """Nobody is at work on the device: keep no block that has no array."""
        self._kept = None

    def flush(self):
        """Copy what has to be copied. The device's context is current."""
        if self._from < self._to:
            with self._lock:
                self._flush()

    def _flush(self):
        first, end, block = self._from, self._to, self._block()
        if first < end and block is not None:
            source = self._mirror.ctypes.data + first
            call("cuMemcpyHtoDAsync", block.address + first, source, end - first, self._device.stream)
        self._from = self._to = 0  # after the call: others need not wait then


class _Block:
    """Memory of the pool, which is given back at its end. (Python may hand out an object whose `__del__` runs.)"""

    def __init__(self, address):
        self.address = address
