"""Silent faults of published reports: each is found, and the value at fault is named."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import pytest
import torch  # noqa: F401

import published_trainings as trainings
import simmesh
from one_device_programs import Program

DP = {"dp": 2}

#: The program, its fault, the layout, and texts of the first line of the report.
Published = tuple[Callable[[str], Program], str, dict[str, int], str, str]

PUBLISHED: list[Published] = [
    (trainings.accumulation, "reduced before the last", DP,
     "gradient of 0.weight", "rank 0 and rank 1 have the same piece"),
    (trainings.accumulation, "only the last", DP, "gradient of 0.weight", "no layout"),
    (trainings.buckets, "scales the buffer", DP, "gradient of 0.weight", "1/2 times"),
    (trainings.buckets, "begins with parameters", DP, "gradient of 0.weight", "no layout"),
    (trainings.contiguous, "returns the original", DP, "gradient of 0.weight", "a part of a sum"),
    (trainings.warm_up, "steps by zeros", DP, "0.weight", ""),
    (trainings.copies, "not refreshed", DP, "parameter 0.weight", "and on no rank"),
    (trainings.frozen, "trains", DP, "parameter 0.weight", ""),
    (trainings.sampler, "pads", DP, "output of 0", "expected pieces"),
    (trainings.scheduler, "for each rank", DP, "parameter 0.weight, time 2", "is 1/2 times"),
    (trainings.windows, "never reduced again", DP, "gradient of 0.weight, time 2", "of a mean"),
    (trainings.loaded, "pieces of another rank", DP, "0.weight, time 2", ""),
    (trainings.trust, "of each shard", DP, "parameter 0", ""),
    (trainings.islands, "averages a copy", DP, "gradient", "1/2 times"),
    (trainings.validation, "counted for each rank", {"dp": 2, "cp": 2}, "returned value",
     "2 times"),
    (trainings.clipping, "counts replicas", DP, "gradient norm", "times one device's"),
    (trainings.clipping, "of each rank", DP, "gradient norm", "rank 0 and rank 1"),
    (trainings.clipping, "on one rank", DP, "clipped gradient of norm.weight", "rank 0 and rank 1"),
]  # fmt: skip


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda each: f"{each[0].__name__}, {each[1]}")
def test_a_published_fault_is_found(published: Any) -> None:
    """Would fail if the fault passed, if another value were blamed, or if the right program were
    called wrong.
    """
    make, fault, layout, value, reason = published
    with warnings.catch_warnings():
        warnings.simplefilter("error", simmesh.LimitOfExactArithmetic)
        assert simmesh.same_as_one_device(make(""), layouts=[layout]).equal
    with pytest.raises(simmesh.DiffersFromOneDevice) as raised:
        simmesh.same_as_one_device(make(fault), layouts=[layout])
    report = str(raised.value)
    first = report[report.index("first: ") :]
    assert value in first.partition("\n")[0] and reason in first, report
