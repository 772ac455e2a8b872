"""What tests share. When it is imported, before libraries with threads are: these sleep while they wait, and do not spin.

The processes of a test run have more threads than there are cores, and those that spin keep others from their work.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
