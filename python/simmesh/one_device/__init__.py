"""Compares a PyTorch program on layouts of ranks with the same program on one device, bit for bit.

    @simmesh.same_as_one_device(layouts=[{"dp": 4}, {"dp": 2, "tp": 2}])
    def test_training(mesh):
        model = parallelize(Model(), mesh)
        ...

Nothing here needs PyTorch before a program runs.
"""

from __future__ import annotations

from simmesh.one_device.comparison import (
    Comparison,
    DiffersFromOneDevice,
    LimitOfExactArithmetic,
    note,
    record_one_device,
    same_as_one_device,
)
from simmesh.one_device.layout import rows_of
from simmesh.one_device.placement import placement_of
from simmesh.one_device.replicas import ReplicasDiffer, same_on_replicas
from simmesh.one_device.resumed import same_when_resumed

__all__ = [
    "Comparison",
    "DiffersFromOneDevice",
    "LimitOfExactArithmetic",
    "ReplicasDiffer",
    "note",
    "placement_of",
    "record_one_device",
    "rows_of",
    "same_as_one_device",
    "same_on_replicas",
    "same_when_resumed",
]
