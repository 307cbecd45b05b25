"""A sum over rows that ranks share is pending: each rank has a part. Adding ten to it should add
ten once. DTensor added it to every part, so the sum had ten for each rank. With a tensor in place
of the number it did the same. The report shows four lines: fifty-five is expected, and the sum of
both ranks is 65. PyTorch learned later that a number is added to a whole value only. A training
that adds a penalty or a small epsilon to a loss has it as often as it has ranks. It shows in a
check of the rule, with the smallest vector.
"""

import simmesh
from simmesh.museum import Exhibit, Rule


@simmesh.rule("P -> P", inputs=["n"])
def wrong(total):
    return total + 10


@simmesh.rule("P -> P", inputs=["n"])
def right(total):
    return total * 10


EXHIBIT = Exhibit(
    title="Ten, on every rank",
    source="pytorch/pytorch #163193",
    date="2025-09-17",
    check=Rule(),
    wrong=wrong,
    right=right,
    at_fault="P(sum) -> P(sum)",
)
