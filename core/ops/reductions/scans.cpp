#include "core/ops/reductions/scans.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/kernels/prefix_sums.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

TensorTypes scanned_type(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  wrapped_dim(attributes.get(attribute::dim), inputs[0].shape.size());
  bool stays = is_floating_point(inputs[0].dtype);
  return {{inputs[0].shape, stays ? inputs[0].dtype : DType::int64}};
}

Folded along_dim(const Tensor& x, const Attributes& attributes) {
  if (x.dim() == 0) return folded(x, {});
  return folded(x, Dims{wrapped_dim(attributes.get(attribute::dim), x.shape().size())});
}

template <class C, class F>
void scan(const Folded& x, gsl::span<C> out, F f) {
  auto in = x.data.values<C>();
  auto count = std::size_t(x.count), inner = std::size_t(x.inner);
  for (std::size_t begin = 0; begin < in.size(); begin += count * inner)
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = begin + k * inner; i < begin + (k + 1) * inner; ++i)
        out[i] = k == 0 ? in[i] : f(out[i - inner], in[i]);
}

template <class F>
void scan_into(const Tensor& x, const Attributes& attributes, Tensor& out, F f) {
  auto run = [&]<class C>(C) {
    Tensor scanned = empty(out.shape(), dtype_of<C>);
    scan<C>(along_dim(converted(x, dtype_of<C>), attributes), scanned.mutable_values<C>(), f);
    adopt_(out, converted(scanned, out.dtype()));
  };
  switch (compute_type_of(out.dtype())) {
    case ComputeType::float32: return run(float{});
    case ComputeType::float64: return run(double{});
    case ComputeType::int64: return run(std::int64_t{});
  }
}

const Op cumsum_op = {
    .name = "cumsum",
    .shape = scanned_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (current_arithmetic().is_exact() && is_floating_point(outputs[0].dtype()))
            exact_prefix_sums(along_dim(inputs[0], attributes), outputs[0]);
          else
            scan_into(inputs[0], attributes, outputs[0], [](auto a, auto b) { return plus(a, b); });
        },
};

const Op cumprod_op = {
    .name = "cumprod",
    .shape = scanned_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          scan_into(inputs[0], attributes, outputs[0], [](auto a, auto b) { return times(a, b); });
        },
};

}  // namespace

Tensor cumsum(const Tensor& x, std::int64_t dim) {
  return call_one(cumsum_op, {x}, {attribute::dim = dim});
}
Tensor cumprod(const Tensor& x, std::int64_t dim) {
  return call_one(cumprod_op, {x}, {attribute::dim = dim});
}

void scans_ops(OpList& ops) { ops.add({&cumsum_op, &cumprod_op}); }

}  // namespace simmesh
