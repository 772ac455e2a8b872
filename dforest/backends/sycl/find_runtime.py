"""Print where pip put SYCL's headers and its library, for the build: a line each."""

import sys
from importlib.metadata import PackageNotFoundError, files

WANTED = ("sycl/queue.hpp", "libsycl.so")

try:
    known = files("intel-sycl-rt") or []
except PackageNotFoundError:
    sys.exit("intel-sycl-rt is not installed where the build's Python looks")
for wanted in WANTED:
    found = [path.locate().resolve() for path in known if str(path).endswith("/" + wanted)]
    if not found:
        sys.exit(f"intel-sycl-rt has no {wanted}")
    print(str(found[0])[: -len(wanted)].rstrip("/"))
