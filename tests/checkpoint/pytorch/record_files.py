"""Writes small files of torch.save in both of its forms, and a whole module.

usage: record_files.py FOLDER        writes tests/checkpoint/pytorch/files
"""

import pathlib
import sys
import types

import torch
from torch import nn


class Net(nn.Module):
    """A module that is saved as a whole, with a part, a buffer and a tied weight."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.head = nn.Linear(2, 3, bias=False)
        self.head.weight = self.fc.weight
        self.register_buffer("scale", torch.tensor([1.5]))


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    train = types.ModuleType("train")
    Net.__module__ = "train"
    vars(train)["Net"] = Net
    sys.modules["train"] = train
    matrix = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    numbers = torch.tensor([1 + 2j, 3 - 1j])
    state = {
        "model": {"w": matrix, "w_t": matrix.t(), "row": matrix[1], "half": matrix.bfloat16()},
        "optimizer": {"state": {0: {"exp_avg": matrix * 2}}, "param_groups": [{"lr": 0.1}]},
        "numbers": numbers,
        "conjugates": numbers.conj(),
        "quantised": torch.quantize_per_tensor(matrix, 0.5, 3, torch.qint8),
        "epoch": 3,
        "names": {"b", "a"} & {"a"},
        "none": torch.empty(0, 3),
    }
    torch.save(state, folder / "training.pt")
    torch.save(state, folder / "training_legacy.pt", _use_new_zipfile_serialization=False)
    with torch.no_grad():
        net = Net()
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) + 10 * i)
    torch.save(net, folder / "module.pt")


if __name__ == "__main__":
    main()
