"""Trees in model files: a `Forest`, and the same trees packed for prediction. It needs NumPy alone."""

import sys
from itertools import groupby

import numpy as np

from dforest.core.class_lists import ClassLists
from dforest.core.forest.arrays import Forest
from dforest.core.forest.state import shrink
from dforest.core.predict.packing import PackedArrays, bounds_of_means, slot_bits, slot_size

_PACKED = ("slots", "words", "n_first", "depth", "values", "bases", "bounds", "lines")
_LISTS = ("starts", "classes", "values")
_VALUE_LISTS = tuple(f"value_{part}" for part in _LISTS)  # in place of "values", of leaves that list their classes


def trees_of(forest, voting, serving, writer, prefix):
    """What a file says of the trees of a forest, which are packed for a way of voting too if ``serving`` says so."""
    settings = forest.settings()
    settings["plans"] = [[plan, len(list(run))] for plan, run in groupby(settings["plans"])]
    packed = None
    if serving:
        packed = {"voting": voting, **_keep_packed(forest.packed(voting).arrays(), writer.arrays, prefix)}
    found = {"forest": writer.write_fields(settings, f"{prefix}forest"), "packed": packed}
    writer.arrays[f"{prefix}forest.node_offsets"] = forest.node_offsets
    trees = shrink(forest.as_dict())
    del trees["node_offsets"]
    writer.arrays |= {f"{prefix}trees.{name}": array for name, array in trees.items()}
    return found


def _keep_packed(packed, arrays, prefix):
    """Add the arrays of packed trees to others; returns what else there is to know of them."""
    slots = packed.slots.view(np.uint8).reshape(-1, slot_size(packed.is_wide))
    kept = packed._asdict() | {"slots": slots}
    if isinstance(packed.values, ClassLists):
        kept |= {f"value_{part}": getattr(packed.values, part) for part in _LISTS} | {"values": None}
    arrays |= {f"{prefix}packed.{name}": kept[name] for name in (*_PACKED, *_VALUE_LISTS) if kept.get(name) is not None}
    return {"is_wide": packed.is_wide, "n_steps": packed.n_steps}


def read_forest(container, reader, model, mmap, prefix):
    """The `Forest` that a file has, given how the names of its arrays begin."""
    settings = reader.fields(model["forest"])
    if "weight_exponent" in settings:  # version 1 of the format
        settings["weight_unit"] = np.ldexp(1.0, -settings.pop("weight_exponent").astype(np.int64))
    settings["plans"] = _repeated(settings["plans"], len(settings["seeds"]))
    offsets, packed = container.array(f"{prefix}forest.node_offsets"), model["packed"]
    names = {name.removeprefix(f"{prefix}trees."): name for name in container.names(f"{prefix}trees.")}

    def read():
        return {name: container.array(stored) for name, stored in names.items()}

    if not mmap:
        offsets = offsets.copy()
    if packed is None or not mmap or sys.byteorder != "little":
        return Forest.stored(offsets, settings, read, container.error)
    if packed["voting"] not in ("soft", "hard"):
        raise ValueError(f"trees are packed for voting={packed['voting']!r}")
    arrays = _packed_arrays(container, packed, offsets, settings, f"{prefix}packed.")
    return Forest.stored(offsets, settings, read, container.error, packed["voting"], arrays, container.n_threads)


def _repeated(plans, n_trees):
    """A plan for each tree."""
    if any(type(count) is not int or count < 1 for _, count in plans) or sum(count for _, count in plans) != n_trees:
        raise ValueError(f"plans are not those of {n_trees} trees")
    return tuple(plan for plan, count in plans for _ in range(count))


def _packed_arrays(container, packed, offsets, settings, prefix):
    arrays = dict.fromkeys(_PACKED)
    arrays.update((name.removeprefix(prefix), container.array(name)) for name in container.names(prefix))
    lists = [arrays.pop(name) for name in _VALUE_LISTS if name in arrays]
    if lists:
        arrays["values"] = ClassLists(*lists, settings["objective"].n_values)
    elif settings["objective"].lists_classes:  # written when leaves did not list their classes yet
        arrays["values"] = ClassLists.of(arrays["values"])
    is_wide, slots = bool(packed["is_wide"]), arrays["slots"]
    if slots.dtype != np.uint8 or slots.shape[1:] != (slot_size(is_wide),):
        raise ValueError(f"slots have the type {slots.dtype} and the shape {slots.shape}")
    arrays["slots"] = slots.reshape(-1).view(np.int8)
    starts = offsets + np.arange(len(offsets))
    if container.texts["format_version"] == "1":
        arrays["bounds"] = bounds_of_means(settings["objective"], arrays["values"])
    return PackedArrays(
        **arrays, starts=starts, bits=slot_bits(settings["n_features"], is_wide), is_wide=is_wide, n_steps=packed["n_steps"]
    )
