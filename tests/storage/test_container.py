"""Containers are safetensors files: what is written is read, by others too, and nothing else."""

import os
import struct

import numpy as np
import pytest
import safetensors.numpy
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import model_files as twin

from dforest.core.exchange import checksum
from dforest.errors import ModelFileError
from dforest.interchange.storage.container import Container, write_container

ARRAYS = {
    "a": np.arange(5, dtype=np.int32), "empty": np.empty((0, 3), np.float32), "b/c d": np.arange(12.0).reshape(3, 4),
    "flags": np.array([True, False, True]), "scalar": np.array(2.5), "half": np.arange(3, dtype=np.float16),
    "é": np.arange(300, dtype=np.uint64),
}  # fmt: skip


def test_checksums_of_known_bytes():
    for data, expected in ((b"", 0xEF46DB3751D8E999), (b"a", 0xD24EC4F1A98C6E5B), (b"abc", 0x44BC2CF5AD770999)):
        assert twin.xxh64(data) == expected


@given(st.binary(max_size=300), st.integers(1, 3))
@settings(max_examples=examples(200), deadline=None)
def test_checksums(data, n_threads):
    assert checksum(data, n_threads) == twin.checksum(data)


def test_checksums_of_many_pieces():
    data = np.random.default_rng(0).bytes(3 * twin.PIECE_BYTES + 17)
    assert {checksum(data, n_threads) for n_threads in (1, 2, 8)} == {twin.checksum(data)}


def test_written_and_read(tmp_path):
    path = tmp_path / "file"
    write_container(path, {"text": "é\x00"}, ARRAYS)
    container = Container(path)
    assert container.texts == {"text": "é\x00"} and container.names() == list(ARRAYS) and container.names("b/") == ["b/c d"]
    for name, array in ARRAYS.items():
        found = container.array(name)
        assert found.dtype == array.dtype and np.array_equal(found, array) and not found.flags.writeable
        assert not found.size or found.ctypes.data % 64 == 0
    for name in ("none", "checksums", "padding.1"):
        with pytest.raises(ModelFileError, match=f"there is no array '{name}'"):
            container.array(name)
    by_others = safetensors.numpy.load_file(path)
    assert {name: array.tolist() for name, array in by_others.items() if name in ARRAYS} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata() == {"text": "é\x00"}
    assert twin.signed(path.read_bytes()) == path.read_bytes()


def test_a_file_takes_the_place_of_another_one(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    write_container(path, {}, ARRAYS)
    link.symlink_to(path)
    before = Container(path)
    write_container(link, {}, {"a": np.arange(9)})
    assert link.is_symlink() and Container(path).array("a").tolist() == list(range(9))
    assert before.array("a").tolist() == list(range(5))  # what was mapped stays
    with pytest.raises(KeyError):
        write_container(path, {}, {"a": np.arange(3, dtype=complex)})
    assert Container(path).array("a").tolist() == list(range(9)) and sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_what_fails_while_it_is_written_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_container(path, {}, ARRAYS)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_container(path, {}, {})
    assert os.listdir(tmp_path) == ["file"] and path.read_bytes() == before


def test_other_files(tmp_path):
    path = tmp_path / "file"
    safetensors.numpy.save_file({"a": np.arange(3)}, path)
    whole = path.read_bytes()
    for blob, message in (
        (b"", "it has 0 bytes"), (b"12345678", "does not begin like one"), (b"\xff" * 100, "does not begin like one"),
        (struct.pack("<Q", 2**63) + b"{}" * 9, "does not begin like one"), (whole, "was not written by dforest"),
    ):  # fmt: skip
        path.write_bytes(blob)
        with pytest.raises(ModelFileError, match=message):
            Container(path)


def test_headers_that_contradict_themselves(tmp_path):
    path = tmp_path / "file"
    write_container(path, {"text": "t"}, ARRAYS)
    blob = path.read_bytes()

    def refused(change, message):
        header, _ = twin.header_of(blob)
        change(header)
        path.write_bytes(twin.with_header(blob, header))
        with pytest.raises(ModelFileError, match=message):
            container = Container(path)
            for name in container.names():
                container.array(name)

    def entry(name, **changes):
        return lambda header: header[name].update(changes)

    refused(entry("a", dtype="F128"), "its header is damaged")
    refused(entry("a", dtype=[]), "its header is damaged")
    refused(entry("a", shape=[6]), "not those of its shape")
    refused(entry("a", shape=[-5]), "can't be in a file")
    refused(entry("a", shape=[5.0]), "can't be in a file")
    refused(entry("a", shape=5), "its header is damaged")
    refused(entry("empty", shape=[0, 2**62]), "can't be in a file")
    refused(entry("empty", shape=[0] * 40), "can't be in a file")
    refused(entry("a", data_offsets=[64, 2**63]), "can't be in a file")
    refused(entry("a", data_offsets=[0, 20]), "not those of its shape")
    refused(lambda header: header.pop("é"), "the arrays have")
    refused(lambda header: header.pop("checksums"), "not those of its shape|first array")
    refused(lambda header: header.update(__metadata__={"text": 1}), "it has no texts")
    refused(lambda header: header.pop("__metadata__"), "it has no texts")
    refused(lambda header: header.update(a=None), "its header is damaged")


def test_truth_values(tmp_path):
    path = tmp_path / "file"
    write_container(path, {}, {"a": np.array([1, 2], np.uint8)})
    header, _ = twin.header_of(path.read_bytes())
    header["a"]["dtype"] = "BOOL"
    path.write_bytes(twin.with_header(path.read_bytes(), header))
    with pytest.raises(ModelFileError, match="other truth values than 0 and 1"):
        Container(path).array("a")
