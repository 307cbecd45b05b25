"""Every rank of a device mesh in one process: deterministic, checked bit for bit.

The names are PyTorch's, and those of the C++ API. Planning and checking need no ranks::

    simmesh.plan(mesh=(2, 4), shape=(16, 8), source="S(0),R", target="R,S(1)").cost_us
    simmesh.verify("tests/cases/pytorch").failed
"""

from __future__ import annotations

from simmesh._core import (
    CounterExample,
    DeviceFigures,
    DeviceMesh,
    FailedCase,
    Finding,
    GateCheck,
    GateResult,
    OpVerdict,
    Partial,
    Placement,
    Plan,
    PlanStep,
    RefutedRule,
    Replicate,
    RuleTableVerdict,
    RuleVerdict,
    SampleVerdict,
    Shard,
    StridedShard,
    TableValidation,
    Validation,
    Verification,
    __version__,
    doctor,
    explain_gate,
    parse_placements,
    plan,
    run_gate,
    validate,
    validate_tables,
    verify,
)

__all__ = [
    "CounterExample",
    "DeviceFigures",
    "DeviceMesh",
    "FailedCase",
    "Finding",
    "GateCheck",
    "GateResult",
    "OpVerdict",
    "Partial",
    "Placement",
    "Plan",
    "PlanStep",
    "RefutedRule",
    "Replicate",
    "RuleTableVerdict",
    "RuleVerdict",
    "SampleVerdict",
    "Shard",
    "StridedShard",
    "TableValidation",
    "Validation",
    "Verification",
    "__version__",
    "doctor",
    "explain_gate",
    "parse_placements",
    "plan",
    "run_gate",
    "validate",
    "validate_tables",
    "verify",
]
