"""The museum of silent bugs of distributed training: each as the smallest program that has it, and
beside it the program that is right.

An exhibit is a file in ``halls``. Its checks are those that any user has.
"""

from __future__ import annotations

from simmesh.museum.checks import (
    Accesses,
    Check,
    Counts,
    Replicas,
    Resumed,
    Rule,
    SameAsOneDevice,
    SameCheckpoint,
    Schedules,
    Typed,
)
from simmesh.museum.exhibit import Exhibit

__all__ = [
    "Accesses",
    "Check",
    "Counts",
    "Exhibit",
    "Replicas",
    "Resumed",
    "Rule",
    "SameAsOneDevice",
    "SameCheckpoint",
    "Schedules",
    "Typed",
]
