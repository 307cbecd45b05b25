#pragma once

#include <optional>

#include "core/ops/elementwise/pointwise.h"

namespace simmesh {

// In-place forms write the result of an op, converted to self's dtype, into self, and return it.
// They raise a RuntimeError where the result has another shape or a dtype of a higher kind than
// self's, and for a leaf that requires a gradient while gradients are enabled.

// The forms of binary and ternary ops.
Tensor& add_(Tensor& self, const Tensor& other, Number alpha = 1);
Tensor& add_(Tensor& self, Number other, Number alpha = 1);
Tensor& sub_(Tensor& self, const Tensor& other, Number alpha = 1);
Tensor& sub_(Tensor& self, Number other, Number alpha = 1);
Tensor& mul_(Tensor& self, const Tensor& other);
Tensor& mul_(Tensor& self, Number other);
Tensor& div_(Tensor& self, const Tensor& other, RoundingMode rounding = RoundingMode::none);
Tensor& div_(Tensor& self, Number other, RoundingMode rounding = RoundingMode::none);
Tensor& pow_(Tensor& self, Number exponent);
Tensor& addcmul_(Tensor& self, const Tensor& a, const Tensor& b, Number value = 1);
Tensor& addcdiv_(Tensor& self, const Tensor& a, const Tensor& b, Number value = 1);
Tensor& lerp_(Tensor& self, const Tensor& end, Number weight);
Tensor& lerp_(Tensor& self, const Tensor& end, const Tensor& weight);
Tensor& maximum_(Tensor& self, const Tensor& other);

// The forms of unary ops.
Tensor& neg_(Tensor& self);
Tensor& abs_(Tensor& self);
Tensor& sqrt_(Tensor& self);
Tensor& exp_(Tensor& self);
Tensor& reciprocal_(Tensor& self);
Tensor& relu_(Tensor& self);
Tensor& floor_(Tensor& self);
Tensor& sigmoid_(Tensor& self);
Tensor& tanh_(Tensor& self);

// The forms that limit, choose or overwrite elements.
Tensor& clamp_(Tensor& self, std::optional<Number> min, std::optional<Number> max = {});
Tensor& masked_fill_(Tensor& self, const Tensor& mask, Number value);
Tensor& fill_(Tensor& self, Number value);
Tensor& fill_(Tensor& self, const Tensor& value);
Tensor& zero_(Tensor& self);

// copy_from_ is PyTorch's copy_: it writes source, broadcast and converted, into self, and passes
// the gradient on to source. (copy_ of tensor.h copies elements of one shape and dtype,
// unrecorded.)
Tensor& copy_from_(Tensor& self, const Tensor& source);

// The out forms write into a tensor of the result's shape and dtype, unrecorded.
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b);

// inplace_ops returns the ops that exist in place only: copy and fill.
gsl::span<const Op* const> inplace_ops();

}  // namespace simmesh
