#include "core/ops/reductions/running_extremes.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/places.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

template <class C>
void running_indices(const Folded& x, bool is_max, gsl::span<std::int64_t> out) {
  auto in = x.data.values<C>();
  auto count = std::size_t(x.count), inner = std::size_t(x.inner);
  for (std::int64_t line = 0; line < x.results(); ++line) {
    std::size_t begin = std::size_t(line) / inner * count * inner + std::size_t(line) % inner;
    std::size_t best = 0;
    for (std::size_t k = 0; k < count; ++k) {
      C element = in[begin + k * inner], leader = in[begin + best * inner];
      bool wins = is_max ? element >= leader : element <= leader;
      if (element != element || (wins && leader == leader)) best = k;
      out[begin + k * inner] = std::int64_t(best);
    }
  }
}

void write_running_indices(const Tensor& x, std::int64_t dim, bool is_max, Tensor& out) {
  auto run = [&]<class C>(C) {
    running_indices<C>(folded(converted(x, dtype_of<C>), Dims{dim}), is_max,
                       out.mutable_values<std::int64_t>());
  };
  switch (compute_type_of(x.dtype())) {
    case ComputeType::float32: return run(float{});
    case ComputeType::float64: return run(double{});
    case ComputeType::int64: return run(std::int64_t{});
  }
}

Op running_extreme_op(const std::string& name, bool is_max) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
    indexed_dim(attributes, inputs[0].shape);
    return {inputs[0], {inputs[0].shape, DType::int64}};
  };
  auto kernel = [is_max](gsl::span<const Tensor> inputs, const Attributes& attributes,
                         gsl::span<Tensor> outputs) {
    Tensor x = inputs[0].contiguous();
    if (x.numel() == 0) return;
    if (x.dim() == 0) {
      adopt_(outputs[0], x);
      return adopt_(outputs[1], zeros({}, DType::int64));
    }
    std::int64_t dim = indexed_dim(attributes, x.shape());
    write_running_indices(x, dim, is_max, outputs[1]);
    adopt_(outputs[0], gather(x, dim, outputs[1]));
  };
  return {.name = name, .shape = shape, .kernel = kernel};
}

const Op cummax_op = running_extreme_op("cummax", true);
const Op cummin_op = running_extreme_op("cummin", false);

ValuesAndIndices running_extreme(const Op& op, const Tensor& x, std::int64_t dim) {
  std::vector<Tensor> outputs =
      call(op, {x}, {attribute::dim = wrapped_dim(dim, x.shape().size())});
  return {outputs[0], outputs[1]};
}

}  // namespace

ValuesAndIndices cummax(const Tensor& x, std::int64_t dim) {
  return running_extreme(cummax_op, x, dim);
}

ValuesAndIndices cummin(const Tensor& x, std::int64_t dim) {
  return running_extreme(cummin_op, x, dim);
}

void running_extremes_ops(OpList& ops) { ops.add({&cummax_op, &cummin_op}); }

}  // namespace simmesh
