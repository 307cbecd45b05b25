"""The loader of torchtitan knows where documents begin, and gives each batch its positions.
Context parallelism needs positions too, so that each rank knows which tokens it has. Its
preparation made them: 0, 1, 2, ... over the whole row, and wrote them over those of the loader.
With context parallelism on, all documents of a row became one long document. Two right pieces of
code, each of which was there first. It shows in the embedding of positions on the second
document.
"""

import torch
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

LOADED = {
    "tokens": torch.tensor([7, 3, 5, 6, 2, 4]),
    "places": torch.tensor([0, 1, 2, 0, 1, 2]),
}


def overwrite(batch):
    return {**batch, "places": torch.arange(len(batch["tokens"]))}


def keep(batch):
    return {"places": torch.arange(len(batch["tokens"])), **batch}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(8, 3), nn.Embedding(8, 3)

    def forward(self, tokens, places):
        return self.tokens(tokens) + self.places(places)


def train(mesh, prepare):
    torch.manual_seed(0)
    batch = prepare(LOADED) if mesh.size() > 1 else LOADED
    rank, ranks = mesh.get_local_rank(), mesh.size()
    Model()(**{name: value.chunk(ranks)[rank] for name, value in batch.items()})


def wrong(mesh):
    train(mesh, overwrite)


def right(mesh):
    train(mesh, keep)


EXHIBIT = Exhibit(
    title="Positions made twice",
    source="pytorch/torchtitan PR 2780",
    date="2026-04-02",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of places",
)
