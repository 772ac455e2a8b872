"""Who grows trees: one engine for the processor, one for devices, behind one interface (`dforest.engines.base`)."""

import dforest.built  # noqa: F401
