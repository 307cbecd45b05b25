#pragma once

#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// gradient_operands returns the tensors from which a gradient is computed, each unchanged.
// Distributed tensors come back in one layout, so that the results stay in it. The argument "of"
// names the op whose gradient it is, which determines the layouts:
//
//   "nll_loss"      the gradient of the loss, scores, targets, the weight of all targets, and the
//                   weights of the classes where there are such; "reduction" is that of the loss
//   "layer_norm"    tensors with the dims of x, of which "normalized_shape" are the last ones, and
//                   as many whole ones behind them as "parameters" says: weight and bias
//   "convolution"   the images, which stay where they are, and the gradient of the result; or a
//                   weight alone, which is whole
//   "tiled_convolution"  the same of images that may be cut between windows (tiles_width)
//   "elementwise"   a gradient and the inputs of a function of each element, which broadcast
//   "factor"        the same, where partial sums of the gradient pass
//   "mse_loss"      the same, where partial sums of the gradient pass, or those of both inputs, or
//                   partial averages of one
//   "operation"     a gradient that lies anywhere; its partial sums are added up and rounded
std::vector<Tensor> gradient_operands(gsl::span<const Tensor> tensors,
                                      const Attributes& attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::string> of{"of"};
inline constexpr Attribute<std::int64_t> parameters{"parameters"};
}  // namespace attribute

}  // namespace simmesh
