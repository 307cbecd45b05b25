"""An error of C++ becomes Python's exception of the same name, with the same text."""

from __future__ import annotations

import pytest

import simmesh


def test_texts_say_where() -> None:
    with pytest.raises(ValueError, match=r"^\[sharding/placement\] "):
        simmesh.Placement("Q")


def test_kinds_are_told_apart() -> None:
    mesh = simmesh.DeviceMesh((2, 4), ("dp", "tp"))
    with pytest.raises(KeyError):
        mesh["pp"]
    with pytest.raises(IndexError):
        mesh.size(5)
    with pytest.raises(RuntimeError):
        simmesh.DeviceMesh((2, 2), ("dp", "dp"))
    with pytest.raises(ValueError):
        simmesh.DeviceMesh((0, 2))
