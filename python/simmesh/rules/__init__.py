"""Judges a sharding rule of a PyTorch function by values: bit for bit, forward and backward.

    simmesh.rulecheck(torch.matmul, "S(0), R -> S(0)", inputs=["mk", "kn"])

The function runs on the pieces that each rank would hold, on meshes of several sizes, with even and
uneven pieces, fewer rows than ranks, and none. Nothing here needs PyTorch before a rule is judged.
"""

from __future__ import annotations

from simmesh.rules.argument_sizes import RuleSizes
from simmesh.rules.calls import RuleArgument, rule_mesh
from simmesh.rules.judge import rulecheck
from simmesh.rules.objects import RuleRow
from simmesh.rules.sizes import RuleInput
from simmesh.rules.verdict import RuleCheck, RuleCounterExample, RuleRefuted

__all__ = [
    "RuleArgument",
    "RuleCheck",
    "RuleCounterExample",
    "RuleInput",
    "RuleRefuted",
    "RuleRow",
    "RuleSizes",
    "rule_mesh",
    "rulecheck",
]
