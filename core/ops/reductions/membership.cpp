#include "core/ops/reductions/membership.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

template <class T>
void write_isin(const Tensor& elements, const Tensor& others, bool invert, Tensor& out) {
  Tensor left = converted(elements, dtype_of<T>).contiguous();
  Tensor right = converted(others, dtype_of<T>).contiguous();
  std::vector<T> sorted;
  for (T value : right.values<T>())
    if (value == value) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end());
  auto values = left.values<T>();
  auto flags = out.mutable_values<bool>();
  for (std::size_t i = 0; i < flags.size(); ++i) {
    bool is_found = values[i] == values[i] &&  // a NaN equals nothing, though it orders like all
                    std::binary_search(sorted.begin(), sorted.end(), values[i]);
    flags[i] = is_found != invert;
  }
}

const Op isin_op = {
    .name = "isin",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      return {{inputs[0].shape, DType::boolean}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          bool invert = attributes.get(attribute::invert);
          DType common = promote_types(inputs[0].dtype(), inputs[1].dtype());
          if (is_floating_point(common))
            write_isin<double>(inputs[0], inputs[1], invert, outputs[0]);
          else
            write_isin<std::int64_t>(inputs[0], inputs[1], invert, outputs[0]);
        },
};

}  // namespace

Tensor isin(const Tensor& elements, const Tensor& others, bool invert) {
  return call_one(isin_op, {elements.detach(), others.detach()}, {attribute::invert = invert});
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t min_length) {
  if (x.distribution() || weights.distribution())
    raise(ErrorKind::runtime_error, "bincount",
          "Sharding propagation failed: expected a plain tensor, since the shape of the result "
          "depends on the elements");
  if (x.dim() != 1 || is_floating_point(x.dtype()) || min_length < 0)
    raise(ErrorKind::runtime_error, "bincount",
          "bincount only supports 1-d non-negative integral inputs and a minlength of at least 0, "
          "got {}{} and {}",
          to_string(x.dtype()), to_string(DimSpan(x.shape())), min_length);
  if (weights.is_defined() && weights.shape() != x.shape())
    raise(ErrorKind::runtime_error, "bincount",
          "weights should be 1-d and have the same length as input, got {}",
          to_string(DimSpan(weights.shape())));
  Tensor places = converted(x.detach(), DType::int64).contiguous();
  std::int64_t length = min_length;
  for (std::int64_t place : places.values<std::int64_t>()) {
    if (place < 0)
      raise(ErrorKind::runtime_error, "bincount",
            "bincount only supports 1-d non-negative integral inputs, got {}", place);
    length = std::max(length, place + 1);
  }
  Tensor terms =
      weights.is_defined()
          ? converted(weights.detach(),
                      weights.dtype() == DType::float32 ? DType::float32 : DType::float64)
          : ones(x.shape(), DType::int64);
  return index_add(zeros({length}, terms.dtype()), 0, places, terms);
}

void membership_ops(OpList& ops) { ops.add({&isin_op}); }

}  // namespace simmesh
