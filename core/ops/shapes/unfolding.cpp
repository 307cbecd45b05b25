#include "core/ops/shapes/unfolding.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

Unfold unfold_of(const Attributes& attributes, const Shape& shape) {
  Unfold windows = {.dim = wrapped_dim(attributes.get(attribute::dim), shape.size()),
                    .size = attributes.get(attribute::window_size),
                    .step = attributes.get(attribute::step)};
  std::int64_t length = shape.empty() ? 1 : shape[std::size_t(windows.dim)];
  if (windows.size < 0 || windows.size > length)
    raise(ErrorKind::runtime_error, "unfold",
          "maximum size for tensor at dimension {} is {} but size is {}", windows.dim, length,
          windows.size);
  if (windows.step < 1)
    raise(ErrorKind::runtime_error, "unfold", "step is {} but must be > 0", windows.step);
  return windows;
}

std::vector<Tensor> unfold_view(gsl::span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  Unfold windows = unfold_of(attributes, x.shape());
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::int64_t stride = 1;
  if (!shape.empty()) {
    auto dim = std::size_t(windows.dim);
    stride = strides[dim];
    shape[dim] = (shape[dim] - windows.size) / windows.step + 1;
    strides[dim] *= windows.step;
  }
  shape.push_back(windows.size);
  strides.push_back(stride);
  return {Tensor(x.storage(), x.dtype(), shape, strides, x.storage_offset())};
}

const Op unfold_op = {.name = "unfold", .view = unfold_view};

}  // namespace

Tensor unfold(const Tensor& x, const Unfold& windows) {
  return call_one(unfold_op, {x},
                  {attribute::dim = wrapped_dim(windows.dim, x.shape().size()),
                   attribute::window_size = windows.size, attribute::step = windows.step});
}

void unfolding_ops(OpList& ops) { ops.add({&unfold_op}); }

}  // namespace simmesh
