"""The engine of a device: many trees together, level by level, by kernels; and what is done there with grown forests.

Nothing here knows whose device it is. A backend (a folder of `dforest.backends`) brings:

- a subclass of `dforest.engines.device.backend.Device`: what the device is called and how large it is (the arguments of its
  constructor), `n_items`, `build`, `empty`, `takes`, `launch`, `check_usable` where a process may lose a device, and
  `keep_memory` where memory is slow to come by;
- a class of arrays with what `dforest.engines.device.backend.DeviceArray` lists: `shape`, `dtype`, `nbytes`, `len`, `get`,
  `write`, `fill`;
- a compiler for the kernels, whose source `kernel_source` has, and, in a header that ``kernels/group.hpp`` includes, what groups
  and items, barriers, atomic additions and reductions over a group are there;
- if users name its devices, an entry in `dforest.backends.BACKENDS`.

`dforest.backends.host` is the smallest backend, whose kernels are compiled with dforest.
`dforest.testing.engine_check.check_engine`, `tests/host` and `tests/device` tell whether a backend's forests are the processor's,
to the bit.
"""
