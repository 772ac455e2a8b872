"""Who grows trees: one engine for the processor, one for a SYCL device, behind one interface (`dforest.engines.base`)."""
