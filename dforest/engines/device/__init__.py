"""The engine of a device: many trees together, level by level, by kernels."""
