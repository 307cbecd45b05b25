#include "core/ops/reductions/extremes.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

void check_not_empty(std::string_view op, const Shape& shape, const Dims& dims) {
  for (std::int64_t dim : dims)
    if (shape[std::size_t(dim)] == 0)
      raise(ErrorKind::index_error, op, "{}(): Expected reduction dim {} to have non-zero size.",
            op, dim);
}

struct Larger {
  template <class C>
  bool operator()(C a, C b) const {
    return a > b;
  }
};
struct Smaller {
  template <class C>
  bool operator()(C a, C b) const {
    return a < b;
  }
};

// Returns the element of a fold that goes on: the first NaN, else the winner.
template <class Wins>
auto winner(Wins wins) {
  return [wins](auto a, auto b) { return b != b || wins(b, a) ? (a != a ? a : b) : a; };
}

template <class Wins>
Op extreme_op(const std::string& name, Wins wins) {
  auto rule = [name](gsl::span<const TensorType> inputs,
                     const Attributes& attributes) -> TensorTypes {
    const Shape& shape = inputs[0].shape;
    check_not_empty(name, shape, reduced_dims(attributes, shape.size()));
    return {reduced_type(inputs[0], attributes, inputs[0].dtype)};
  };
  auto kernel = [wins](gsl::span<const Tensor> inputs, const Attributes& attributes,
                       gsl::span<Tensor> outputs) {
    fold_into(inputs[0], reduced_dims(attributes, inputs[0].shape().size()), outputs[0],
              winner(wins));
  };
  return {.name = name, .shape = rule, .kernel = kernel};
}

const Op amax_op = extreme_op("amax", Larger());
const Op amin_op = extreme_op("amin", Smaller());
const Op max_op = extreme_op("max", Larger());
const Op min_op = extreme_op("min", Smaller());

const Op aminmax_op = {
    .name = "aminmax",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      const Shape& shape = inputs[0].shape;
      if (attributes.get_or(attribute::dims, Dims()).empty() && numel(shape) == 0)
        raise(ErrorKind::runtime_error, "aminmax",
              "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
              "identity.");
      check_not_empty("aminmax", shape, reduced_dims(attributes, shape.size()));
      TensorType type = reduced_type(inputs[0], attributes, inputs[0].dtype);
      return {type, type};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Dims dims = reduced_dims(attributes, inputs[0].shape().size());
          fold_into(inputs[0], dims, outputs[0], winner(Smaller()));
          fold_into(inputs[0], dims, outputs[1], winner(Larger()));
        }};

// Writes the first index of the winner of each fold; the first NaN wins.
template <class C, class Wins>
void first_indices(const Folded& x, gsl::span<std::int64_t> out, Wins wins) {
  auto in = x.data.values<C>();
  for (std::int64_t result = 0; result < x.results(); ++result) {
    std::int64_t base = result / x.inner * x.count * x.inner + result % x.inner;
    C best = in[std::size_t(base)];
    std::int64_t index = 0;
    for (std::int64_t k = 1; k < x.count && best == best; ++k) {
      C element = in[std::size_t(base + k * x.inner)];
      if (element != element || wins(element, best)) {
        best = element;
        index = k;
      }
    }
    out[std::size_t(result)] = index;
  }
}

template <class Wins>
void index_kernel(const Tensor& x, const Dims& dims, Tensor& out, Wins wins) {
  auto run = [&]<class C>(C) {
    first_indices<C>(folded(converted(x, dtype_of<C>), dims), out.mutable_values<std::int64_t>(),
                     wins);
  };
  switch (compute_type_of(x.dtype())) {
    case ComputeType::float32: return run(float{});
    case ComputeType::float64: return run(double{});
    case ComputeType::int64: return run(std::int64_t{});
  }
}

template <class Wins>
Op extreme_index_op(const std::string& name, Wins wins) {
  auto rule = [name](gsl::span<const TensorType> inputs,
                     const Attributes& attributes) -> TensorTypes {
    const Shape& shape = inputs[0].shape;
    check_not_empty(name, shape, reduced_dims(attributes, shape.size()));
    return {reduced_type(inputs[0], attributes, DType::int64)};
  };
  auto kernel = [wins](gsl::span<const Tensor> inputs, const Attributes& attributes,
                       gsl::span<Tensor> outputs) {
    index_kernel(inputs[0], reduced_dims(attributes, inputs[0].shape().size()), outputs[0], wins);
  };
  return {.name = name, .shape = rule, .kernel = kernel};
}
const Op argmax_op = extreme_index_op("argmax", Larger());
const Op argmin_op = extreme_index_op("argmin", Smaller());

// Returns the elements at given indices along a dim; index has size 1 there, or lacks that dim.
Tensor elements_at(const Tensor& x, std::int64_t dim, const Tensor& index, bool keepdim) {
  if (x.dim() == 0) return x;
  Tensor taken = gather(x, dim, keepdim ? index : unsqueeze(index, dim));
  return keepdim ? taken : squeeze(taken, dim);
}

template <class Wins>
Op indexed_op(const std::string& name, Wins wins) {
  auto rule = [name](gsl::span<const TensorType> inputs,
                     const Attributes& attributes) -> TensorTypes {
    const Shape& shape = inputs[0].shape;
    check_not_empty(name, shape, reduced_dims(attributes, shape.size()));
    return {reduced_type(inputs[0], attributes, inputs[0].dtype),
            reduced_type(inputs[0], attributes, DType::int64)};
  };
  auto kernel = [wins](gsl::span<const Tensor> inputs, const Attributes& attributes,
                       gsl::span<Tensor> outputs) {
    Dims dims = reduced_dims(attributes, inputs[0].shape().size());
    index_kernel(inputs[0], dims, outputs[1], wins);
    std::int64_t dim = dims.empty() ? 0 : dims[0];
    bool keepdim = attributes.get_or(attribute::keepdim, false);
    copy_(outputs[0], elements_at(inputs[0], dim, outputs[1], keepdim));
  };
  return {.name = name, .shape = rule, .kernel = kernel};
}
const Op max_dim_op = indexed_op("max.dim", Larger());
const Op min_dim_op = indexed_op("min.dim", Smaller());

ValuesAndIndices indexed(const Op& op, const Tensor& x, std::int64_t dim, bool keepdim) {
  std::vector<Tensor> outputs = call(op, {x}, reduction_attributes(dim, keepdim));
  return {outputs[0], outputs[1]};
}

Attributes index_attributes(std::optional<std::int64_t> dim, bool keepdim) {
  return dim ? reduction_attributes(*dim, keepdim) : reduction_attributes({}, keepdim);
}

}  // namespace

Tensor amax(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(amax_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor amin(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(amin_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor max(const Tensor& x) { return call_one(max_op, {x}); }
Tensor min(const Tensor& x) { return call_one(min_op, {x}); }
ValuesAndIndices max(const Tensor& x, std::int64_t dim, bool keepdim) {
  return indexed(max_dim_op, x, dim, keepdim);
}
ValuesAndIndices min(const Tensor& x, std::int64_t dim, bool keepdim) {
  return indexed(min_dim_op, x, dim, keepdim);
}
SmallestAndLargest aminmax(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim) {
  std::vector<Tensor> found = call(aminmax_op, {x}, index_attributes(dim, keepdim));
  return {found[0], found[1]};
}
Tensor argmax(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim) {
  return call_one(argmax_op, {x}, index_attributes(dim, keepdim));
}
Tensor argmin(const Tensor& x, std::optional<std::int64_t> dim, bool keepdim) {
  return call_one(argmin_op, {x}, index_attributes(dim, keepdim));
}

void extremes_ops(OpList& ops) {
  ops.add({&amax_op, &amin_op, &aminmax_op, &max_op, &min_op, &argmax_op, &argmin_op, &max_dim_op,
           &min_dim_op});
}

}  // namespace simmesh
