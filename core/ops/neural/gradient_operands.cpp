#include "core/ops/neural/gradient_operands.h"

#include "core/arithmetic/unrounded.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/op_list.h"
#include "core/tensor/tensor.h"

namespace simmesh {

namespace {

const Op gradient_operands_op = {
    .name = "gradient_operands",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      return {inputs.begin(), inputs.end()};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            copy_(outputs[i], inputs[i]);
            // Drops the unrounded sums, as a write would.
            if (!keeps_unrounded() && is_unrounded(outputs[i])) outputs[i].mutable_data();
          }
        },
    .moves = true,
};

}  // namespace

std::vector<Tensor> gradient_operands(gsl::span<const Tensor> tensors,
                                      const Attributes& attributes) {
  return call(gradient_operands_op, tensors, attributes);
}

void gradient_operands_ops(OpList& ops) { ops.add({&gradient_operands_op}); }

}  // namespace simmesh
