#include "core/ops/reductions/sums.h"

#include <algorithm>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/products/carried_product.h"
#include "core/arithmetic/reductions/combine.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/kernels/unrounded_fold.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

DType summed_dtype(DType dtype, const Attributes& attributes) {
  return attributes.get_or(attribute::dtype, is_floating_point(dtype) ? dtype : DType::int64);
}

// Returns the input in the dtype in which it is summed: integers of any width are added in int64.
Tensor summand(const Tensor& x, DType dtype) {
  bool same_kind = !is_floating_point(x.dtype()) && dtype == DType::int64;
  return same_kind ? x : converted(x, dtype);
}

void sum_into(const Tensor& x, const Attributes& attributes, Tensor& out) {
  Dims dims = reduced_dims(attributes, x.shape().size());
  bool is_unfinished = keeps_unrounded() && is_floating_point(x.dtype());
  if (is_unfinished && is_floating_point(out.dtype()))
    return write_unrounded(out, unrounded_fold(folded(x, dims)));
  Folded terms = folded(summand(x, out.dtype()), dims);
  SumRequest request = terms.request(SumTerm::identity);
  request.result = out.mutable_data();
  request.result_dtype = out.dtype();
  compute(current_arithmetic(), request);
}

void sum_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                gsl::span<Tensor> outputs) {
  if (outputs[0].numel() > 0) sum_into(inputs[0], attributes, outputs[0]);
}

const Op sum_op = {
    .name = "sum",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {reduced_type(inputs[0], attributes, summed_dtype(inputs[0].dtype, attributes))};
    },
    .kernel = sum_kernel,
};

// Rounds once, after the division.
void exact_mean(const Tensor& x, const Attributes& attributes, Tensor& out) {
  if (out.numel() == 0) return;
  auto count = reduced_count(x.shape(), attributes);
  if (count == 0) return sum_into(x, attributes, out);
  Folded terms = folded(converted(x, out.dtype()), reduced_dims(attributes, x.shape().size()));
  if (keeps_unrounded()) return write_unrounded(out, divided(unrounded_fold(terms), double(count)));
  CarriedSums sums = carried_sum(terms.request(SumTerm::identity));
  divided(sums, double(count)).round(out.mutable_data(), out.dtype());
}

const Op mean_op = {
    .name = "mean",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      DType dtype = attributes.get_or(attribute::dtype, inputs[0].dtype);
      check_floating_input("mean", dtype);
      return {reduced_type(inputs[0], attributes, dtype)};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          if (current_arithmetic().is_exact()) return exact_mean(inputs[0], attributes, outputs[0]);
          sum_kernel(inputs, attributes, outputs);
          Tensor& out = outputs[0];
          divide(out.mutable_data(), double(reduced_count(inputs[0].shape(), attributes)),
                 out.dtype(), out.numel());
        },
};

const Op nansum_op = {
    .name = "nansum",
    .shape = sum_op.shape,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Tensor finite = masked_fill(inputs[0], isnan(inputs[0]), 0);
          sum_kernel({&finite, 1}, attributes, outputs);
        },
};

const Op prod_op = {
    .name = "prod",
    .shape = sum_op.shape,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Dims dims = reduced_dims(attributes, inputs[0].shape().size());
          if (reduced_count(inputs[0].shape(), attributes) == 0)
            return copy_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), 1));
          fold_into(converted(inputs[0], outputs[0].dtype()), dims, outputs[0],
                    [](auto a, auto b) { return times(a, b); });
        },
};

Op truth_op(std::string name, bool is_all) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
    bool is_uint8 = inputs[0].dtype == DType::uint8;
    return {reduced_type(inputs[0], attributes, is_uint8 ? DType::uint8 : DType::boolean)};
  };
  auto kernel = [is_all](gsl::span<const Tensor> inputs, const Attributes& attributes,
                         gsl::span<Tensor> outputs) {
    Dims dims = reduced_dims(attributes, inputs[0].shape().size());
    if (reduced_count(inputs[0].shape(), attributes) == 0)
      return copy_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), is_all));
    Tensor truth = converted(converted(inputs[0], DType::boolean), DType::int64);
    using Word = std::int64_t;
    if (is_all)
      fold_into(truth, dims, outputs[0], [](auto a, auto b) { return Word(a) & Word(b); });
    else
      fold_into(truth, dims, outputs[0], [](auto a, auto b) { return Word(a) | Word(b); });
  };
  return {.name = std::move(name), .shape = shape, .kernel = kernel};
}
const Op any_op = truth_op("any", false);
const Op all_op = truth_op("all", true);

const Op count_nonzero_op = {
    .name = "count_nonzero",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {reduced_type(inputs[0], attributes, DType::int64)};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          Tensor truth = converted(inputs[0], DType::boolean);
          sum_kernel({&truth, 1}, attributes, outputs);
        },
};

}  // namespace

Tensor sum(const Tensor& x, const DimList& dims, bool keepdim, std::optional<DType> dtype) {
  return call_one(sum_op, {x}, reduction_attributes(dims, keepdim, dtype));
}
Tensor mean(const Tensor& x, const DimList& dims, bool keepdim, std::optional<DType> dtype) {
  return call_one(mean_op, {x}, reduction_attributes(dims, keepdim, dtype));
}
Tensor nansum(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(nansum_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor prod(const Tensor& x, std::optional<DType> dtype) {
  return call_one(prod_op, {x}, reduction_attributes({}, false, dtype));
}
Tensor prod(const Tensor& x, const DimList& dims, bool keepdim, std::optional<DType> dtype) {
  return call_one(prod_op, {x}, reduction_attributes(dims, keepdim, dtype));
}
Tensor any(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(any_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor all(const Tensor& x, const DimList& dims, bool keepdim) {
  return call_one(all_op, {x}, reduction_attributes(dims, keepdim));
}
Tensor count_nonzero(const Tensor& x, const DimList& dims) {
  return call_one(count_nonzero_op, {x}, reduction_attributes(dims, false));
}

void sums_ops(OpList& ops) {
  ops.add({&sum_op, &mean_op, &nansum_op, &prod_op, &any_op, &all_op, &count_nonzero_op});
}

}  // namespace simmesh
