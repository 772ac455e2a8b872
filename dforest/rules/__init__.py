"""Whatever the processor, kernels and drivers must agree on, once: C headers, and functions over arrays."""
