"""Judges the sharding rules that the installed PyTorch itself registers, by values.

    python -m simmesh.rules.pytorch --only softmax

takes the calls that PyTorch's samples make, asks its propagation for every placement of the inputs,
and runs the operator on the ranks' pieces. ``recorded`` has the wrong rules of known releases.
"""
