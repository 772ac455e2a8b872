"""What is SYCL's alone is not tested where the device is one of CUDA's."""

import pytest


@pytest.fixture(autouse=True)
def only_sycl(request):
    if "device" in request.fixturenames and hasattr(request.getfixturevalue("device"), "number"):
        pytest.skip("the device is one of CUDA's")
