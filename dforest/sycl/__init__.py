"""dforest on SYCL devices. Nothing here is imported before a device is asked for."""
