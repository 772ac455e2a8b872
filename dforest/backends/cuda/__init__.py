"""CUDA as a backend of devices, NVIDIA's GPUs: their memory, their compiler, which there are, arrays of other libraries there.

Nothing here is imported before a device is asked for, `devices` excepted. What a backend is: see `dforest.engines.device`.
"""
