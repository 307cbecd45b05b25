#include "core/ops/indexing/resampling.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

// Returns where each place of a longer dim reads: computed in float, as PyTorch does.
Tensor nearest_places(std::int64_t size, std::int64_t new_size, double scale) {
  float step = scale > 0 ? float(1.0 / scale) : float(size) / float(new_size);
  Tensor places = empty({new_size}, DType::int64);
  std::int64_t i = 0;
  for (std::int64_t& place : places.mutable_values<std::int64_t>())
    place = std::min(std::int64_t(std::floor(float(i++) * step)), size - 1);
  return places;
}

double scale_of(const Attributes& attributes) { return attributes.get_or(attribute::scale, 0.0); }

const Op upsample_op = {
    .name = "upsample_nearest",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      TensorType type = inputs[0];
      const Dims& size = attributes.get(attribute::size);
      std::copy(size.begin(), size.end(), type.shape.end() - std::ptrdiff_t(size.size()));
      return {type};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor result = inputs[0];
          for (std::int64_t dim = 2; dim < result.dim(); ++dim)
            result = index_select(
                result, dim,
                nearest_places(result.size(dim), outputs[0].size(dim), scale_of(attributes)));
          copy_(outputs[0], result);
        },
};

const Op upsample_backward_op = {
    .name = "upsample_nearest_backward",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return {{attributes.get(attribute::input_sizes), inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor result = inputs[0];
          for (std::int64_t dim = 2; dim < result.dim(); ++dim) {
            Shape shape = result.shape();
            shape[std::size_t(dim)] = outputs[0].size(dim);
            Tensor places =
                nearest_places(outputs[0].size(dim), result.size(dim), scale_of(attributes));
            result = index_add(zeros(shape, result.dtype()), dim, places, result);
          }
          copy_(outputs[0], result);
        },
};

std::int64_t quarter_turns(const Attributes& attributes) {
  std::int64_t k = attributes.get(attribute::k) % 4;
  return k < 0 ? k + 4 : k;
}

const Op rot90_op = {
    .name = "rot90",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      TensorType type = inputs[0];
      const Dims& dims = attributes.get(attribute::dims);
      if (quarter_turns(attributes) % 2 == 1)
        std::swap(type.shape[std::size_t(dims[0])], type.shape[std::size_t(dims[1])]);
      return {type};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Dims& dims = attributes.get(attribute::dims);
          Tensor result = inputs[0];
          switch (quarter_turns(attributes)) {
            case 1: result = transpose(flip(result, Dims{dims[1]}), dims[0], dims[1]); break;
            case 2: result = flip(result, dims); break;
            case 3: result = transpose(flip(result, Dims{dims[0]}), dims[0], dims[1]); break;
            default: break;
          }
          copy_(outputs[0], result);
        },
};

}  // namespace

Tensor upsample_nearest(const Tensor& x, const Upsampling& options) {
  if (options.size.empty() != options.scale.has_value())
    raise(ErrorKind::value_error, "upsample_nearest",
          "either size or scale_factor should be defined, and only one of them");
  if (x.dim() < 3)
    raise(ErrorKind::value_error, "upsample_nearest", "expected images of at least 3 dims, got {}",
          to_string(DimSpan(x.shape())));
  auto spatial = std::size_t(x.dim() - 2);
  Dims size = options.size;
  if (size.size() == 1) size.resize(spatial, size[0]);
  for (std::size_t i = 0; options.scale && i < spatial; ++i)
    size.push_back(std::int64_t(std::floor(double(x.shape()[i + 2]) * *options.scale)));
  if (size.size() != spatial || *std::min_element(size.begin(), size.end()) < 1)
    raise(ErrorKind::value_error, "upsample_nearest",
          "expected a size above 0 for each of {} dims, got {}", spatial, to_string(DimSpan(size)));
  return call_one(upsample_op, {x},
                  {attribute::size = size, attribute::scale = options.scale.value_or(0.0)});
}

Tensor upsample_nearest_backward(const Tensor& gradient, DimSpan input_sizes, double scale) {
  return call_one(upsample_backward_op, {gradient},
                  {attribute::input_sizes = Dims(input_sizes.begin(), input_sizes.end()),
                   attribute::size = Dims(gradient.shape().begin() + 2, gradient.shape().end()),
                   attribute::scale = scale});
}

Tensor rot90(const Tensor& x, std::int64_t k, DimSpan dims) {
  if (dims.size() != 2 ||
      wrapped_dim(dims[0], x.shape().size()) == wrapped_dim(dims[1], x.shape().size()))
    raise(ErrorKind::runtime_error, "rot90",
          "expected total rotation dims == 2, both different, but got dims = {}", to_string(dims));
  Dims wrapped = {wrapped_dim(dims[0], x.shape().size()), wrapped_dim(dims[1], x.shape().size())};
  return call_one(rot90_op, {x}, {attribute::k = k, attribute::dims = wrapped});
}

Tensor block_diag(gsl::span<const Tensor> matrices) {
  std::vector<Tensor> blocks;
  std::int64_t columns = 0, before = 0;
  for (const Tensor& matrix : matrices) {
    if (matrix.dim() > 2)
      raise(ErrorKind::runtime_error, "block_diag",
            "Input tensors must have 2 or fewer dimensions, got {}",
            to_string(DimSpan(matrix.shape())));
    blocks.push_back(matrix.dim() == 2 ? matrix : reshape(matrix, {1, -1}));
    columns += blocks.back().size(1);
  }
  for (Tensor& block : blocks) {
    std::int64_t own = block.size(1);
    block = pad(block, {before, columns - before - own});
    before += own;
  }
  return cat(blocks, 0);
}

void resampling_ops(OpList& ops) { ops.add({&upsample_op, &upsample_backward_op, &rot90_op}); }

}  // namespace simmesh
