"""A recommender looks up a bag of rows and takes their mean. With a table that is cut by rows, each
rank looks up the rows that it has, and the results are added up. TorchRec's kernel divided by the
number of rows that it saw, which is the rank's share of the bag. A bag with one row here and two
there became a mean of one plus a mean of two. If all rows of a bag lie on one rank the result is
right, so small tests pass. The cure adds up sums, and divides by the size of the whole bag. It
shows in the output of the layer.
"""

import torch
from torch import nn
from torch.distributed.nn.functional import all_reduce

from simmesh.museum import Exhibit, SameAsOneDevice

BAGS = torch.tensor([[0, 4, 5], [1, 2, 7], [3, 0, 6]])


class EmbeddingBag(nn.Module):
    def __init__(self, mesh, divides_last):
        super().__init__()
        self.mesh, self.divides_last = mesh, divides_last
        rows = torch.randn(8, 4).chunk(mesh.size())[mesh.get_local_rank()]
        self.weight = nn.Parameter(rows.clone())

    def forward(self, bags):
        index = bags - self.mesh.get_local_rank() * len(self.weight)
        is_mine = ((index >= 0) & (index < len(self.weight))).unsqueeze(-1)
        rows = self.weight[index.clamp(0, len(self.weight) - 1)] * is_mine
        sums, counts = rows.sum(1), is_mine.sum(1)
        if self.divides_last:
            return all_reduce(sums, group=self.mesh.get_group()) / bags.shape[1]
        return all_reduce(sums / counts.clamp(min=1), group=self.mesh.get_group())


def look_up(mesh, divides_last):
    torch.manual_seed(0)
    return EmbeddingBag(mesh, divides_last)(BAGS)


def wrong(mesh):
    return look_up(mesh, divides_last=False)


def right(mesh):
    return look_up(mesh, divides_last=True)


EXHIBIT = Exhibit(
    title="A mean of one, and a mean of two",
    source="meta-pytorch/torchrec #2362",
    date="2024-09-05",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of EmbeddingBag",
)
