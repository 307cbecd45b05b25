#include "core/ops/indexing/rearranging.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/kernels/places.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/ops/view_shapes.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

TensorTypes same_type(Types inputs, const Attributes&) { return {inputs[0]}; }

void fill_bytes_with_zero(Tensor& out) {
  if (out.bytes() > 0) std::memset(out.mutable_data(), 0, out.bytes());
}

TensorTypes repeat_type(Types inputs, const Attributes& attributes) {
  const Dims& repeats = attributes.get(attribute::repeats);
  const Shape& shape = inputs[0].shape;
  if (repeats.size() < shape.size())
    raise(ErrorKind::runtime_error, "repeat",
          "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
          "tensor: {} for {}",
          to_string(DimSpan(repeats)), to_string(DimSpan(shape)));
  TensorType result = {repeats, inputs[0].dtype};
  for (std::size_t i = 1; i <= shape.size(); ++i)
    result.shape[repeats.size() - i] *= shape[shape.size() - i];
  for (std::int64_t count : repeats)
    if (count < 0)
      raise(ErrorKind::runtime_error, "repeat",
            "Trying to create tensor with negative dimension: {}", to_string(DimSpan(repeats)));
  return {result};
}

const Op repeat_op = {
    .name = "repeat",
    .shape = repeat_type,
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Shape whole = repeated_shape(attributes.get(attribute::repeats), inputs[0].shape());
          Shape once = whole;
          for (std::size_t i = 0; i < once.size(); i += 2) once[i] = 1;
          Tensor target = outputs[0].view(whole);
          copy_(target, expand(reshape(inputs[0], once), whole));
        },
};

// Pads of PyTorch's order, last dim first, as a box: its begin in the padded tensor by dim.
struct PadBox {
  Dims before;
  Shape shape;
};

PadBox pad_box(const Shape& shape, DimSpan pads) {
  if (pads.size() % 2 != 0 || pads.size() / 2 > shape.size())
    raise(ErrorKind::runtime_error, "constant_pad_nd",
          "expected an even number of pads, at most two a dim of {}, got {}",
          to_string(DimSpan(shape)), to_string(pads));
  PadBox box{Dims(shape.size(), 0), shape};
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    std::size_t dim = shape.size() - 1 - i;
    box.before[dim] = pads[2 * i];
    box.shape[dim] += pads[2 * i] + pads[2 * i + 1];
    if (box.shape[dim] < 0)
      raise(ErrorKind::runtime_error, "constant_pad_nd",
            "The input size {}, plus negative padding {} and {}, resulted in a negative output "
            "size at dimension {}",
            shape[dim], pads[2 * i], pads[2 * i + 1], dim);
  }
  return box;
}

void pad_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  PadBox box = pad_box(inputs[0].shape(), attributes.get(attribute::pad));
  double value = attributes.get_or(attribute::value, 0.0).as<double>();
  if (value == 0)
    fill_bytes_with_zero(out);
  else
    adopt_(out, full(out.shape(), out.dtype(), value));
  Tensor source = inputs[0], target = out;
  for (std::int64_t dim = 0; dim < out.dim(); ++dim) {
    std::int64_t before = box.before[std::size_t(dim)];
    std::int64_t from = std::max<std::int64_t>(-before, 0), at = std::max<std::int64_t>(before, 0);
    std::int64_t length = std::min(source.size(dim) - from, out.size(dim) - at);
    if (length <= 0) return;
    source = source.narrow({.dim = dim, .start = from, .length = length});
    target = target.narrow({.dim = dim, .start = at, .length = length});
  }
  copy_(target, source);
}

const Op pad_op = {
    .name = "constant_pad_nd",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return {{pad_box(inputs[0].shape, attributes.get(attribute::pad)).shape, inputs[0].dtype}};
    },
    .kernel = pad_kernel,
};

// Does the same with parts of a distributed tensor, which can't be mixed with plain indices.
Tensor padded_by_parts(const Tensor& x, std::int64_t dim, const Dims& pads, PadMode mode) {
  auto border = [&](std::int64_t start, std::int64_t count) {
    bool mirrors = mode == PadMode::reflect;
    Tensor part = narrow(x, {.dim = dim, .start = start, .length = mirrors ? count : 1});
    if (mirrors) return flip(part, {dim});
    Shape shape = part.shape();
    shape[std::size_t(dim)] = count;
    return expand(part, shape);
  };
  std::int64_t size = x.size(dim);
  bool mirrors = mode == PadMode::reflect;
  std::vector<Tensor> parts;
  if (pads[0] > 0) parts.push_back(border(mirrors ? 1 : 0, pads[0]));
  parts.push_back(x);
  if (pads[1] > 0) parts.push_back(border(mirrors ? size - 1 - pads[1] : size - 1, pads[1]));
  return parts.size() == 1 ? x : cat(parts, dim);
}

// Returns the places from which the elements of the result come.
Places repeated_places(const Dims& repeats) {
  Places places;
  std::int64_t index = 0;
  for (std::int64_t count : repeats) places.insert(places.end(), std::size_t(count), index++);
  return places;
}

const Op repeat_each_op = {
    .name = "repeat_interleave",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      Shape shape = inputs[0].shape;
      std::int64_t& size = shape[std::size_t(attributes.get(attribute::dim))] = 0;
      for (std::int64_t count : attributes.get(attribute::repeats)) size += count;
      return {{shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Places places = repeated_places(attributes.get(attribute::repeats));
          Tensor indices = empty({std::int64_t(places.size())}, DType::int64);
          std::copy(places.begin(), places.end(), indices.mutable_values<std::int64_t>().begin());
          adopt_(outputs[0], index_select(inputs[0], attributes.get(attribute::dim), indices));
        },
    .moves = true,
};

// Returns how often each element of a dim is repeated. Every rank reads all of distributed repeats,
// since the shape of the result depends on them.
Dims counts_of(const Tensor& repeats, std::int64_t size) {
  Dims counts;
  Tensor row = repeats.dim() == 0 ? reshape(repeats.detach(), {1}) : repeats.detach();
  for (std::int64_t i = 0; i < size; ++i) {
    bool is_common = row.size(0) == 1;
    if (i > 0 && is_common)
      counts.push_back(counts.back());
    else
      counts.push_back(item(select(row, 0, i)).as<std::int64_t>());
    if (counts.back() < 0)
      raise(ErrorKind::runtime_error, "repeat_interleave", "repeats can not be negative, got {}",
            counts.back());
  }
  return counts;
}

// padded_by_index pads one dim with elements of its own.
Tensor padded_by_index(const Tensor& x, std::int64_t dim, const Dims& pads, PadMode mode) {
  std::int64_t size = x.size(dim);
  std::int64_t limit = mode == PadMode::reflect ? size - 1 : size == 0 ? 0 : INT64_MAX;
  if (pads[0] < 0 || pads[1] < 0 || pads[0] > limit || pads[1] > limit)
    raise(ErrorKind::runtime_error, "pad",
          "Padding size should be less than the corresponding input dimension, but got: padding "
          "({}, {}) at dimension {} of input {}",
          pads[0], pads[1], dim, to_string(DimSpan(x.shape())));
  if (x.distribution()) return padded_by_parts(x, dim, pads, mode);
  Tensor places = empty({size + pads[0] + pads[1]}, DType::int64);
  std::int64_t i = -pads[0];
  for (std::int64_t& place : places.mutable_values<std::int64_t>()) {
    std::int64_t mirrored = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    place = mode == PadMode::reflect ? mirrored : std::clamp<std::int64_t>(i, 0, size - 1);
    ++i;
  }
  return index_select(x, dim, places);
}

// Without dims the tensor is rolled as a vector.
void roll_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  const Dims& shifts = attributes.get(attribute::shifts);
  Dims dims = attributes.get(attribute::dims);
  Tensor source = inputs[0];
  if (dims.empty()) {
    dims = {0};
    source = reshape(source, {source.numel()});
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t dim = wrapped_dim(dims[i], source.shape().size());
    std::int64_t size = source.dim() == 0 ? 0 : source.size(dim);
    std::int64_t shift = size == 0 ? 0 : (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    Tensor rolled = empty(source.shape(), source.dtype());
    Tensor front = rolled.narrow({.dim = dim, .start = 0, .length = shift});
    Tensor back = rolled.narrow({.dim = dim, .start = shift, .length = size - shift});
    copy_(front, source.narrow({.dim = dim, .start = size - shift, .length = shift}));
    copy_(back, source.narrow({.dim = dim, .start = 0, .length = size - shift}));
    source = rolled;
  }
  adopt_(outputs[0], reshape(source, outputs[0].shape()));
}

const Op roll_op = {
    .name = "roll",
    .shape = same_type,
    .kernel = roll_kernel,
};

void flip_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  if (out.numel() == 0) return;
  const Tensor& x = inputs[0];
  Strides strides = x.strides();
  std::int64_t offset = x.storage_offset();
  for (std::int64_t dim : attributes.get(attribute::dims)) {
    if (x.dim() == 0) continue;
    std::size_t at = std::size_t(wrapped_dim(dim, x.shape().size()));
    offset += (x.shape()[at] - 1) * strides[at];
    strides[at] = -strides[at];
  }
  copy_(out, Tensor(x.storage(), x.dtype(), x.shape(), strides, offset));
}

const Op flip_op = {
    .name = "flip",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      const Dims& dims = attributes.get(attribute::dims);
      if (!dims.empty()) wrapped_dims(dims, inputs[0].shape.size());
      return {inputs[0]};
    },
    .kernel = flip_kernel,
};

// Triangle says which columns of a row stay: [begin, end).
struct Columns {
  std::int64_t begin;
  std::int64_t end;
};
using Triangle = Columns (*)(std::int64_t row, std::int64_t columns, std::int64_t diagonal);

Columns lower(std::int64_t row, std::int64_t columns, std::int64_t diagonal) {
  return {0, std::clamp<std::int64_t>(row + diagonal + 1, 0, columns)};
}

Columns upper(std::int64_t row, std::int64_t columns, std::int64_t diagonal) {
  return {std::clamp<std::int64_t>(row + diagonal, 0, columns), columns};
}

Kernel triangle_kernel(Triangle triangle) {
  return [triangle](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
    Tensor& out = outputs[0];
    if (out.numel() == 0) return;
    Tensor x = inputs[0].contiguous();
    fill_bytes_with_zero(out);
    std::int64_t rows = x.size(x.dim() - 2), columns = x.size(x.dim() - 1);
    std::int64_t bytes = std::int64_t(bytes_per_element(x.dtype()));
    std::byte* target = out.mutable_data();
    const std::byte* source = x.data();
    for (std::int64_t row = 0; row < x.numel() / columns; ++row) {
      Columns kept = triangle(row % rows, columns, attributes.get(attribute::diagonal));
      std::int64_t at = (row * columns + kept.begin) * bytes;
      if (kept.begin < kept.end)
        std::memcpy(target + at, source + at, std::size_t((kept.end - kept.begin) * bytes));
    }
  };
}

TensorTypes matrix_type(Types inputs, const Attributes&) {
  if (inputs[0].shape.size() < 2)
    raise(ErrorKind::runtime_error, "tril", "input tensor must have at least 2 dimensions");
  return {inputs[0]};
}

const Op tril_op = {
    .name = "tril",
    .shape = matrix_type,
    .kernel = triangle_kernel(lower),
};

const Op triu_op = {
    .name = "triu",
    .shape = matrix_type,
    .kernel = triangle_kernel(upper),
};

}  // namespace

Tensor repeat(const Tensor& x, DimSpan repeats) {
  return call_one(repeat_op, {x}, {attribute::repeats = Dims(repeats.begin(), repeats.end())});
}

Tensor tile(const Tensor& x, DimSpan repeats) {
  Dims filled(repeats.begin(), repeats.end());
  while (std::int64_t(filled.size()) < x.dim()) filled.insert(filled.begin(), 1);
  return repeat(x, filled);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::int64_t dim) {
  if (repeats < 0)
    raise(ErrorKind::runtime_error, "repeat_interleave", "Repeats must be non-negative, got {}",
          repeats);
  dim = wrapped_dim(dim, x.shape().size());
  Tensor wide = unsqueeze(x, dim + (x.dim() > 0));
  Shape shape = wide.shape();
  shape[std::size_t(dim + (x.dim() > 0))] = repeats;
  Tensor repeated = expand(wide, shape);
  return x.dim() == 0 ? clone(repeated) : flatten(clone(repeated), dim, dim + 1);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::int64_t dim) {
  dim = wrapped_dim(dim, x.shape().size());
  std::int64_t size = x.dim() == 0 ? 1 : x.size(dim);
  if (repeats.dim() > 1 || (repeats.numel() != 1 && repeats.numel() != size))
    raise(ErrorKind::runtime_error, "repeat_interleave",
          "repeats must have the same size as input along dim, got {} for a size of {}",
          to_string(DimSpan(repeats.shape())), size);
  return call_one(repeat_each_op, {x.dim() == 0 ? reshape(x, {1}) : x},
                  {attribute::repeats = counts_of(repeats, size), attribute::dim = dim});
}

Tensor pad(const Tensor& x, DimSpan pads, PadMode mode, double value) {
  if (mode == PadMode::constant)
    return call_one(pad_op, {x},
                    {attribute::pad = Dims(pads.begin(), pads.end()), attribute::value = value});
  pad_box(x.shape(), pads);
  Tensor result = x;
  for (std::size_t i = 0; i + 1 < pads.size(); i += 2)
    result =
        padded_by_index(result, x.dim() - 1 - std::int64_t(i / 2), {pads[i], pads[i + 1]}, mode);
  return result;
}

Tensor roll(const Tensor& x, DimSpan shifts, DimSpan dims) {
  bool is_flat = dims.empty() && shifts.size() == 1;
  if (!is_flat && shifts.size() != dims.size())
    raise(ErrorKind::runtime_error, "roll", "shifts and dimensions must align. shifts: {}, dims:{}",
          shifts.size(), dims.size());
  return call_one(roll_op, {x},
                  {attribute::shifts = Dims(shifts.begin(), shifts.end()),
                   attribute::dims = Dims(dims.begin(), dims.end())});
}

Tensor flip(const Tensor& x, DimSpan dims) {
  return call_one(flip_op, {x}, {attribute::dims = Dims(dims.begin(), dims.end())});
}

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return call_one(tril_op, {x}, {attribute::diagonal = diagonal});
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return call_one(triu_op, {x}, {attribute::diagonal = diagonal});
}

void rearranging_ops(OpList& ops) {
  ops.add({&flip_op, &pad_op, &repeat_op, &repeat_each_op, &roll_op, &tril_op, &triu_op});
}

}  // namespace simmesh
