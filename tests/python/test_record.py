"""Tests of the data that a rank hands in: outputs for the data hash, and expectations."""

from __future__ import annotations

import pytest

import simmesh
from simmesh import World


def test_bits_are_recorded() -> None:
    def data_hash(dtype: str) -> int:
        return World(2).run(lambda rank: simmesh.record(simmesh.zeros((2,), dtype=dtype))).data_hash

    assert data_hash("float32") == data_hash("float32") != data_hash("int32")


def test_words_are_recorded() -> None:
    silent, recorded = World(1).run(lambda rank: None), World(1).run(lambda rank: simmesh.record(1))
    assert silent.data_hash != recorded.data_hash


def test_differences_are_raised() -> None:
    simmesh.expect_same_bits(simmesh.zeros((2,)), simmesh.zeros((2,)))
    with pytest.raises(AssertionError, match="2 of 2 elements of float32"):
        simmesh.expect_same_bits(simmesh.zeros((2,)), simmesh.full((2,), 1))
