#include "core/ops/elementwise/comparison.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

namespace {

template <class F>
Op comparison_op(const std::string& name, F f) {
  return pointwise_op({.name = name,
                       .slots = {{attribute::self}, {attribute::other}},
                       .result = PointwiseResult::boolean,
                       .loops = loops<2>(f)});
}

const Op eq_op = comparison_op("eq", [](auto a, auto b) { return a == b; });
const Op ne_op = comparison_op("ne", [](auto a, auto b) { return a != b; });
const Op lt_op = comparison_op("lt", [](auto a, auto b) { return a < b; });
const Op le_op = comparison_op("le", [](auto a, auto b) { return a <= b; });
const Op gt_op = comparison_op("gt", [](auto a, auto b) { return a > b; });
const Op ge_op = comparison_op("ge", [](auto a, auto b) { return a >= b; });

// Returns one bool for two tensors of one dtype; for tensors cut over a mesh every rank gets it.
const Op equal_op = {
    .name = "equal",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      if (inputs[0].dtype != inputs[1].dtype)
        raise(ErrorKind::runtime_error, "equal", "Expected object of data type {} but got {}",
              to_string(inputs[0].dtype), to_string(inputs[1].dtype));
      return {{{}, DType::boolean}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          bool same = inputs[0].shape() == inputs[1].shape();
          if (same) {
            Tensor equals = eq(inputs[0], inputs[1]);
            for (bool element : equals.values<bool>()) same = same && element;
          }
          outputs[0].mutable_values<bool>()[0] = same;
        },
};

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return call_one(eq_op, {a, b}); }
Tensor eq(const Tensor& a, Number b) { return call_one(eq_op, {a}, with_other(b)); }
Tensor ne(const Tensor& a, const Tensor& b) { return call_one(ne_op, {a, b}); }
Tensor ne(const Tensor& a, Number b) { return call_one(ne_op, {a}, with_other(b)); }
Tensor lt(const Tensor& a, const Tensor& b) { return call_one(lt_op, {a, b}); }
Tensor lt(const Tensor& a, Number b) { return call_one(lt_op, {a}, with_other(b)); }
Tensor le(const Tensor& a, const Tensor& b) { return call_one(le_op, {a, b}); }
Tensor le(const Tensor& a, Number b) { return call_one(le_op, {a}, with_other(b)); }
Tensor gt(const Tensor& a, const Tensor& b) { return call_one(gt_op, {a, b}); }
Tensor gt(const Tensor& a, Number b) { return call_one(gt_op, {a}, with_other(b)); }
Tensor ge(const Tensor& a, const Tensor& b) { return call_one(ge_op, {a, b}); }
Tensor ge(const Tensor& a, Number b) { return call_one(ge_op, {a}, with_other(b)); }

bool equal(const Tensor& a, const Tensor& b) {
  Tensor is_equal = call_one(equal_op, {a.detach(), b.detach()}).local_part();
  return known_tensor(is_equal, "equal").values<bool>()[0];
}

void comparison_ops(OpList& ops) {
  ops.add({&eq_op, &ne_op, &lt_op, &le_op, &gt_op, &ge_op, &equal_op});
}

}  // namespace simmesh
