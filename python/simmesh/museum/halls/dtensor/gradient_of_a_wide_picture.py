"""A picture is cut along its width. A convolution whose stride is as wide as its kernel needs no
neighbours. The gradient of the picture then lies as the picture does: cut along the width.
PyTorch's rule for the backward pass said for every cut that the gradient is cut along dim 0, the
batch. The pieces were right and their name was wrong: who joins them gets two narrow pictures in
place of a wide one. Release 2.12 had it right; it was lost when the rule was written anew, and
reported in August 2026. It shows in a rule check of the backward function, with the smallest
picture for which it fails.
"""

import torch

import simmesh
from simmesh.museum import Exhibit, Rule


def gradient_of_input(gradient, weight):
    """Backward of a convolution in which each column of the result has columns of its own."""
    columns = torch.einsum("bow,oik->biwk", gradient, weight)
    return columns.flatten(2)


@simmesh.rule("S(2), R -> S(0)", inputs=["bow", "oik"], pieces=["even"])
def wrong(gradient, weight):
    return gradient_of_input(gradient, weight)


@simmesh.rule("S(2), R -> S(2)", inputs=["bow", "oik"], pieces=["even"])
def right(gradient, weight):
    return gradient_of_input(gradient, weight)


EXHIBIT = Exhibit(
    title="Two narrow pictures in place of a wide one",
    source="pytorch/pytorch #191926",
    date="2026-08-03",
    check=Rule(),
    wrong=wrong,
    right=right,
    at_fault="S(2), R -> S(0)",
)
