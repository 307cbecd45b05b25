"""A batch has rows of tokens, and each tensor-parallel rank has a part of every row. A selected
token must be found again in the whole batch, so its local number becomes a global one. torchtitan
added the rank's first position to the local number. For a batch of one row that is right. With
two rows the second row begins after the whole first row, and the numbers point at tokens of the
wrong row. All indices are in range, so nothing complains. It shows in the first value that is
read by such a number.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

ROWS, LENGTH = 2, 4


def for_one_row(number, each, first):
    return number + first


def for_all_rows(number, each, first):
    return number // each * LENGTH + number % each + first


def train(mesh, global_number):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3))
    tokens, weights = torch.randn(ROWS, LENGTH, 3), torch.randn(ROWS * LENGTH)
    mine = tokens.chunk(mesh.size(), 1)[mesh.get_local_rank()]
    each = mine.shape[1]
    numbers = global_number(torch.arange(ROWS * each), each, mesh.get_local_rank() * each)
    return model(mine) * weights[numbers].view(ROWS, each, 1)


def wrong(mesh):
    return train(mesh, for_one_row)


def right(mesh):
    return train(mesh, for_all_rows)


EXHIBIT = Exhibit(
    title="Right for a batch of one",
    source="pytorch/torchtitan PR 3604",
    date="2026-06-13",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="return model(mine) * weights[numbers].view(ROWS, each, 1)",
)
