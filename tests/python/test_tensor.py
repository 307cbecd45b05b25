"""Tensors and the arrays of NumPy and PyTorch: the same bits, and no writing past a copy."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import simmesh
from simmesh import Tensor

DTYPES = ["float64", "float32", "bfloat16", "float16", "int64", "int32", "uint8", "bool"]
NUMPY_DTYPES = [dtype for dtype in DTYPES if dtype != "bfloat16"]


def sample(dtype: str) -> Tensor:
    """A tensor of 3x4 elements."""
    return simmesh.formula((3, 4), dtype=dtype, rule="small", seed=1)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_both_ways(dtype: str) -> None:
    tensor = sample(dtype)
    array = tensor.numpy()
    assert array.dtype == np.dtype(dtype) and array.shape == (3, 4)
    assert simmesh.same_bits(simmesh.tensor(array), tensor)
    assert array.tolist() == tensor.tolist()


def test_numpy_shares_bytes() -> None:
    tensor = sample("float32")
    array = tensor.numpy()
    assert np.shares_memory(array, tensor.numpy())
    assert not array.flags.writeable
    column = tensor.narrow(1, 1, 2).transpose(0, 1)
    assert np.shares_memory(column.numpy(), array)
    assert np.array_equal(column.numpy(), array[:, 1:3].T)
    del tensor, column
    gc.collect()
    assert array.sum() == sample("float32").numpy().sum()


def test_numpy_asks_for_arrays() -> None:
    tensor = sample("float32")
    assert np.shares_memory(np.asarray(tensor), tensor.numpy())
    assert not np.shares_memory(np.array(tensor), tensor.numpy())
    assert np.asarray(tensor, dtype="float64").dtype == np.float64
    assert np.array(tensor).flags.writeable


def test_arrays_of_any_strides_are_copied() -> None:
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)[:, ::2, ::-1]
    tensor = simmesh.from_dlpack(array)
    assert tensor.shape == (2, 2, 4) and tensor.stride() == (8, 4, 1)
    assert np.array_equal(tensor.numpy(), array)
    array[0, 0, 0] = -1
    assert tensor.tolist()[0][0][0] == 3


def test_lists_become_tensors_as_in_pytorch() -> None:
    assert simmesh.tensor([[1, 2], [3, 4]]).dtype == "int64"
    assert simmesh.tensor([1.5]).dtype == "float32"
    assert simmesh.tensor([True]).dtype == "bool"
    assert simmesh.tensor(2.5).shape == () and simmesh.tensor(2.5).item() == 2.5
    assert simmesh.tensor([1, 2], dtype="bfloat16").tolist() == [1.0, 2.0]
    assert simmesh.tensor(np.zeros(2)).dtype == "float64"


def test_dtypes_have_many_names() -> None:
    for name in ("float16", np.float16, np.dtype("float16")):
        assert simmesh.zeros((2,), dtype=name).dtype == "float16"
    with pytest.raises(ValueError, match="float8"):
        simmesh.zeros((2,), dtype="float8")


def test_views_share_a_storage() -> None:
    tensor = simmesh.tensor(np.arange(6).reshape(2, 3))
    assert tensor.view((3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert tensor.transpose(0, 1).stride() == (1, 3)
    assert not tensor.transpose(0, 1).is_contiguous()
    assert tensor.permute((1, 0)).contiguous().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tensor.unsqueeze(0).squeeze(0).shape == (2, 3)
    assert tensor.size(-1) == 3 and tensor.ndim == 2 and tensor.numel() == 6 and len(tensor) == 2
    assert tensor.nbytes == 48
    with pytest.raises(IndexError):
        tensor.size(2)
    with pytest.raises(ValueError):
        tensor.view((4,))


def test_conversion_rounds_once() -> None:
    assert simmesh.tensor([1.0, 2.7, -2.7]).to("int32").tolist() == [1, 2, -2]
    assert simmesh.tensor([1 + 2**-9], dtype="float64").to("bfloat16").tolist() == [1.0]


def test_differences_are_told() -> None:
    zeros, ones = simmesh.zeros((2,)), simmesh.full((2,), 1)
    assert simmesh.difference_in_bits(zeros, zeros.clone()) == ""
    assert "2 of 2 elements" in simmesh.difference_in_bits(zeros, ones)
    assert repr(ones) == "float32[2] {1, 1}"


def test_numpy_has_no_bfloat16() -> None:
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        with pytest.raises(TypeError, match="bfloat16"):
            sample("bfloat16").numpy()
    else:
        array = sample("bfloat16").numpy()
        assert simmesh.same_bits(simmesh.tensor(array), sample("bfloat16"))


def test_refuses_other_elements() -> None:
    with pytest.raises(TypeError, match="complex"):
        simmesh.from_dlpack(np.zeros(2, dtype=np.complex64))
    with pytest.raises(TypeError, match="int16"):
        simmesh.tensor(np.zeros(2, dtype=np.int16))
    with pytest.raises(TypeError, match="an array"):
        simmesh.from_dlpack("text")


def test_dlpack_copies_unless_told() -> None:
    tensor = sample("float32")
    copy = np.from_dlpack(tensor)
    assert np.array_equal(copy, tensor.numpy()) and not np.shares_memory(copy, tensor.numpy())
    shared = np.from_dlpack(tensor, copy=False)
    assert np.shares_memory(shared, tensor.numpy()) and not shared.flags.writeable
    with pytest.raises(BufferError, match=r"DLPack 1\.0"):
        tensor.__dlpack__(copy=False)
    assert tensor.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pytorch_both_ways(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = sample(dtype)
    other = torch.from_dlpack(tensor)
    assert str(other.dtype) == f"torch.{dtype}" and tuple(other.shape) == (3, 4)
    assert simmesh.same_bits(simmesh.from_dlpack(other), tensor)
    other.zero_()
    assert simmesh.same_bits(tensor, sample(dtype))
    assert simmesh.zeros((1,), dtype=other.dtype).dtype == dtype


@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_scalars_and_empty_tensors_go_both_ways(shape: tuple[int, ...]) -> None:
    tensor = simmesh.full(shape, 2)
    assert tensor.numpy().shape == shape
    assert simmesh.same_bits(simmesh.tensor(tensor.numpy()), tensor)
    assert simmesh.same_bits(simmesh.from_dlpack(np.from_dlpack(tensor)), tensor)
