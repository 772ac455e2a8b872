"""
A forest as an ONNX model
=========================

``to_onnx`` makes a model that runs without Python, in onnxruntime or another ONNX runtime. This example checks that the
predictions of onnxruntime equal those of dforest to the last bit, and compares the time that the two take for a row. Both use
one thread.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator
from onnxruntime import InferenceSession, SessionOptions
from sklearn.datasets import make_classification

from dforest import RandomForestClassifier

X, y = make_classification(5000, n_features=20, n_informative=8, random_state=0)
forest = RandomForestClassifier(n_estimators=100, max_depth=10, random_state=0)
forest.fit(X, y)
model = forest.to_onnx()

# %%
# The model's input is called ``X``, and its outputs are ``label`` and ``probabilities``.
options = SessionOptions()
options.intra_op_num_threads = 1
session = InferenceSession(
    model.SerializeToString(), options, providers=["CPUExecutionProvider"]
)
(probabilities,) = session.run(["probabilities"], {"X": X})
print("Equal to the last bit:", np.array_equal(probabilities, forest.predict_proba(X)))
print(f"Size of the model: {model.ByteSize() / 1e6:.1f} MB")

# %%
# ``predictor()`` returns dforest's low-level predictor, which neither checks nor converts its input.
predictor = forest.predictor()
ways = {
    "predict_proba": forest.predict_proba,
    "onnxruntime": lambda rows: session.run(["probabilities"], {"X": rows}),
    "predictor()": predictor.predict,
}


def microseconds_per_row(predict, rows, n_repeats=5):
    """The shortest time of some repeats, each of which takes at least 0.02 seconds."""
    best = np.inf
    for _ in range(n_repeats):
        start, n_calls = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - start) < 0.02:
            predict(rows)
            n_calls += 1
        best = min(best, elapsed / n_calls)
    return 1e6 * best / len(rows)


sizes = [1, 10, 100, 1000]
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, predict), marker in zip(ways.items(), "os^", strict=True):
    times = [microseconds_per_row(predict, X[:size]) for size in sizes]
    ax.plot(sizes, times, marker=marker, label=name)
    print(
        f"{name}: {times[0]:.0f} µs for a single row, "
        f"{times[-1]:.1f} µs per row of {sizes[-1]}"
    )
ax.set(
    xscale="log",
    yscale="log",
    xlabel="Rows in a call",
    ylabel="Time per row (µs)",
    title="Time per row, on one thread",
)
ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
ax.yaxis.set_major_formatter("{x:g}")
ax.yaxis.set_minor_formatter("")
ax.xaxis.set_major_formatter("{x:g}")
ax.legend()
plt.show()

# %%
# In a call for a single row, most of the time is overhead, such as checks of the input, which the low-level predictor leaves
# out. With many rows in a call, most of the time goes to the trees, and ``predict_proba`` and the predictor take equally long.
# How onnxruntime compares depends on its version and on the machine: the picture and the printed lines come from the machine
# that built this page.
