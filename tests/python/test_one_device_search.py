"""Layouts found from bits: those of small meshes, even and uneven, are told from each other."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from simmesh.one_device import notebook as notes
from simmesh.one_device.assembly import Piece
from simmesh.one_device.layout import Layout
from simmesh.one_device.names import Names
from simmesh.one_device.nearest import factor_of, factors_of, nearest
from simmesh.one_device.notebook import Key, Notebook, leaves
from simmesh.one_device.numbering import with_names_of
from simmesh.one_device.search import Allowed, find
from simmesh.one_device.snapshot import Exact, same_bits, snapshot_of

PIECES = [Piece("R"), Piece("S", 0), Piece("S", 1), Piece("P"), Piece("M")]


def numbers(*shape: int, seed: int) -> torch.Tensor:
    """Whole numbers, whose sums and means are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-500, 500, shape, generator=generator).float()


def cut(whole: torch.Tensor, pieces: list[Piece], layout: Layout) -> list[torch.Tensor]:
    """The ranks' tensors in a layout."""
    if not pieces:
        return [whole]
    piece, size = pieces[0], layout.sizes[0]
    inner = Layout(layout.names[1:], layout.sizes[1:])
    if piece.letter == "R":
        parts = [whole] * size
    elif piece.letter == "S":
        parts = list(torch.tensor_split(whole, size, piece.dim))
    else:
        others = [numbers(*whole.shape, seed=size + rank) for rank in range(size - 1)]
        total = whole * (size if piece.letter == "M" else 1)
        parts = [*others, total - sum(others, torch.zeros(()))]
    return [rank for part in parts for rank in cut(part, pieces[1:], inner)]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2)], ids=["2x2", "3x2"])
@pytest.mark.parametrize("pieces", list(itertools.product(PIECES, PIECES)), ids=str)
def test_every_layout_is_found(sizes: tuple[int, ...], pieces: tuple[Piece, ...]) -> None:
    """Would fail if a layout were taken for another one, or rows that don't divide were lost."""
    layout = Layout(("dp", "tp"), sizes)
    whole = numbers(7, 8, seed=1)
    ranks = [Exact(each.clone()) for each in cut(whole, list(pieces), layout)]
    found = find(Exact(whole), ranks, layout, Allowed())
    assert found is not None
    # A sum of means is a mean of sums, over dims of one size.
    is_same = sizes == (2, 2) and {each.letter for each in pieces} == {"P", "M"}
    assert found.pieces == (pieces[::-1] if is_same and pieces[0].letter == "P" else pieces)
    is_part = any(piece.is_partial for piece in pieces)
    assert (find(Exact(whole), ranks, layout, Allowed(pending=False)) is None) == is_part
    ranks[-1].elements[0, 0] += 1
    assert find(Exact(whole), ranks, layout, Allowed()) is None


def test_what_tp_has_cut_is_cut_again() -> None:
    """Would fail if the order of FSDP2's cuts, which come after those of TP, weren't tried."""
    layout = Layout(("dp", "tp"), (2, 2))
    whole = numbers(8, 3, seed=2)
    rows = whole.chunk(4)
    ranks = [Exact(rows[index]) for index in (0, 2, 1, 3)]
    found = find(Exact(whole), ranks, layout, Allowed())
    assert found is not None and found.text == "S(0), S(0)"


def test_equal_parts_are_a_wrong_factor() -> None:
    """Would fail if half of a value on each of two ranks passed for a part of a sum."""
    layout = Layout(("tp",), (2,))
    whole = numbers(4, 3, seed=3)
    ranks = [Exact(whole / 2), Exact(whole / 2)]
    assert find(Exact(whole), ranks, layout, Allowed()) is None
    assert find(Exact(whole), ranks, layout, Allowed(equal_parts=True)) is not None
    near = nearest(Exact(whole), ranks, layout)
    assert near is not None and factor_of(near, 1e-6) == 0.5


def test_factors_of_ranks_are_told_apart() -> None:
    """Would fail if ranks with factors of their own had none, or one."""
    layout = Layout(("dp",), (2,))
    whole = numbers(4, 3, seed=4)
    ranks = [Exact(whole[:2] * 3), Exact(whole[2:] * 5)]
    near = nearest(Exact(whole), ranks, layout)
    assert near is not None and near.text == "S(0)"
    assert factor_of(near, 1e-6) is None
    assert factors_of(near, 1e-6) == [3.0, 5.0]


def test_the_nearest_layout_names_the_element() -> None:
    """Would fail if rank, place, expected or got were another element's."""
    layout = Layout(("dp", "tp"), (2, 2))
    whole = numbers(4, 6, seed=5)
    parts = cut(whole, [Piece("S", 0), Piece("S", 1)], layout)
    ranks = [Exact(each.clone()) for each in parts]
    ranks[3].elements[1, 2] = 1000.0
    near = nearest(Exact(whole), ranks, layout)
    assert near is not None
    assert (near.text, near.differing, near.rank, near.index) == ("S(0), S(1)", 1, 3, (3, 5))
    assert (near.expected_first, near.got_first) == (float(whole[3, 5]), 1000.0)


def test_a_scale_of_local_means_is_found() -> None:
    """Would fail if gradients before they are averaged counted as others."""
    layout = Layout(("dp", "tp"), (2, 2))
    whole = numbers(4, 6, seed=6)
    parts = cut(whole * 4, [Piece("S", 0), Piece("R")], layout)
    ranks = [Exact(each) for each in parts]
    found = find(Exact(whole), ranks, layout, Allowed(scale=True))
    assert found is not None and found.scale == 4.0
    assert find(Exact(whole), ranks, layout, Allowed()) is None


def test_rows_in_another_order_are_found() -> None:
    """Would fail if experts had to get their rows in one device's order."""
    layout = Layout(("ep",), (2,))
    whole = numbers(6, 2, seed=7)
    order = torch.tensor([3, 1, 0, 5, 4, 2])
    ranks = [Exact(each) for each in whole[order].chunk(2)]
    found = find(Exact(whole), ranks, layout, Allowed(reordered=True))
    assert found is not None and found.is_reordered
    assert find(Exact(whole), ranks, layout, Allowed()) is None


def test_scaled_rows_in_another_order_are_found() -> None:
    """Would fail if gradients of tokens that are sorted by expert were a fault under DDP."""
    one = numbers(6, 3, seed=11)
    shuffled = 2 * one[torch.tensor([4, 2, 0, 5, 1, 3])]
    ranks = [Exact(each) for each in shuffled.chunk(2)]
    layout = Layout(("dp",), (2,))
    assert find(Exact(one), ranks, layout, Allowed(reordered=True)) is None
    found = find(Exact(one), ranks, layout, Allowed(reordered=True, scale=True))
    assert found is not None and found.is_reordered and found.scale == 2.0


def test_bits_are_compared_but_for_zeros_and_nans() -> None:
    """Would fail if the sign of a zero were a difference, or a last bit none."""
    nan = float("nan")
    assert same_bits(torch.tensor([0.0, nan]), torch.tensor([-0.0, nan]))
    assert not same_bits(torch.tensor([1.0]), torch.tensor([1.0 + 2**-23]))
    assert not same_bits(torch.tensor([nan]), torch.tensor([1.0]))
    assert not same_bits(torch.tensor([1]), torch.tensor([1.0]))


def test_leaves_have_their_places() -> None:
    """Would fail if two tensors of an output had one name."""
    value = {"loss": 1.0, "states": (torch.ones(1), [2, "text"])}
    assert [suffix for suffix, _ in leaves(value)] == [
        "['loss']", "['states'][0]", "['states'][1][0]"
    ]  # fmt: skip
    assert [suffix for suffix, _ in leaves((torch.ones(1),))] == [""]


def test_names_have_no_wrappers() -> None:
    """Would fail if a name under a wrapper weren't that of one device."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = nn.Linear(2, 2)  # a name that wrappers have, in a module of one's own
            self.tied = self.module

    class Wrapper(DistributedDataParallel):
        def __init__(self, module: nn.Module) -> None:
            nn.Module.__init__(self)
            self.module = module

    Wrapper.__module__ = DistributedDataParallel.__module__
    names = Names()
    block: Any = Block()
    assert names.add_root(Wrapper(block)) == ["module.weight", "module.bias"]
    assert names.of_module(block) == "" and names.of_module(block.module) == "tied"
    assert names.add_root(nn.Linear(1, 1)) == ["Linear.weight", "Linear.bias"]
    assert names.add_root(nn.Linear(1, 1)) == ["Linear#2.weight", "Linear#2.bias"]


def notebook_of(**parameters: torch.Tensor) -> Notebook:
    """A notebook with initial parameters; "_" stands for "." in names."""
    notebook = Notebook()
    for name, value in parameters.items():
        key = notebook.next_key(notes.INITIAL, name.replace("_", "."))
        notebook.add(key, value, "here")
    return notebook


def test_numbers_are_matched_by_the_bits() -> None:
    """Would fail if a rank's first expert were another device's first, whatever its bits."""
    weights = [numbers(2, 2, seed=seed) for seed in range(4)]
    one = notebook_of(**{f"experts_{index}_w": each for index, each in enumerate(weights)})
    rank = notebook_of(experts_0_w=weights[2], experts_1_w=weights[3])
    assert with_names_of(one, rank).parameter_names == {"experts.2.w", "experts.3.w"}
    same = notebook_of(experts_0_w=weights[0], experts_1_w=weights[1])
    assert with_names_of(one, same).parameter_names == {"experts.0.w", "experts.1.w"}
    other = notebook_of(experts_0_w=weights[3], experts_1_w=weights[1])
    assert with_names_of(one, other).parameter_names == {"experts.0.w", "experts.1.w"}


def test_a_wrapper_of_ones_own_has_no_name() -> None:
    """Would fail if a wrapper that only the ranks have, or only one device, left nothing equal."""
    plain = notebook_of(first_w=numbers(2, seed=1), second_w=numbers(2, seed=2))
    wrapped = notebook_of(inner_first_w=numbers(2, seed=1), inner_second_w=numbers(2, seed=2))
    assert with_names_of(plain, wrapped).parameter_names == plain.parameter_names
    assert with_names_of(wrapped, plain).parameter_names == wrapped.parameter_names
    other = notebook_of(third_w=numbers(2, seed=1))
    assert with_names_of(plain, other).parameter_names == {"third.w"}


def test_snapshots_keep_what_a_tensor_was() -> None:
    """Would fail if a later write changed what was noted."""
    tensor = torch.ones(2)
    snapshot = snapshot_of(tensor)
    tensor += 1
    assert snapshot is not None and snapshot.exact.elements.tolist() == [1.0, 1.0]
    assert snapshot_of(torch.ones(2, device="meta")) is None
    assert snapshot_of("text") is None
    assert Key(notes.OUTPUT, "layers.0", 1).text == "output of layers.0, time 2"
