#include "core/ops/neural/softmax_backward.h"

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/op_list.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {

namespace {

using Formula = Tensor (*)(const Tensor& gradient, const Tensor& y, std::int64_t dim);

Op backward_op(const char* name, Formula formula) {
  return {
      .name = name,
      .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
        return {inputs[0]};
      },
      .kernel =
          [formula](gsl::span<const Tensor> inputs, const Attributes& attributes,
                    gsl::span<Tensor> outputs) {
            if (outputs[0].numel() == 0) return;
            Tensor result = formula(inputs[0], inputs[1], attributes.get(attribute::dim));
            adopt_(outputs[0], result.contiguous());
          },
  };
}

const Op softmax_backward_op = backward_op(
    "_softmax_backward_data", [](const Tensor& g, const Tensor& y, std::int64_t dim) -> Tensor {
      Tensor weighted = g * y;
      return weighted - y * sum(weighted, dim, true);
    });

const Op log_softmax_backward_op = backward_op(
    "_log_softmax_backward_data", [](const Tensor& g, const Tensor& y, std::int64_t dim) -> Tensor {
      // A statement of its own, because compilers evaluate operands in different orders.
      Tensor total = sum(g, dim, true);
      return g - exp(y) * total;
    });

Tensor called(const Op& op, const Tensor& gradient, const Tensor& y, std::int64_t dim) {
  return call_one(op, {gradient, y}, {attribute::dim = wrapped_dim(dim, y.shape().size())});
}

}  // namespace

Tensor softmax_backward(const Tensor& gradient, const Tensor& y, std::int64_t dim) {
  return called(softmax_backward_op, gradient, y, dim);
}

Tensor log_softmax_backward(const Tensor& gradient, const Tensor& y, std::int64_t dim) {
  return called(log_softmax_backward_op, gradient, y, dim);
}

void softmax_backward_ops(OpList& ops) {
  ops.add({&softmax_backward_op, &log_softmax_backward_op});
}

}  // namespace simmesh
