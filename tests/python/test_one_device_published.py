"""Silent faults of reports without a number: each is found, and the value at fault is named. The
museum has those of published changes.
"""

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
    (trainings.sampler, "pads", DP, "output of 0", "expected pieces"),
    (trainings.scheduler, "for each rank", DP, "parameter 0.weight, time 2", "is 1/2 times"),
    (trainings.loaded, "pieces of another rank", DP, "0.weight, time 2", ""),
    (trainings.trust, "of each shard", DP, "parameter 0", ""),
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
