#include "core/ops/elementwise/inplace.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/gradient_call.h"
#include "core/ops/promotion.h"
#include "core/ops/registry.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

// The types of self, whatever is written into it.
TensorTypes self_type(gsl::span<const TensorType> inputs, const Attributes&) {
  if (inputs.size() > 1) {
    TensorType both[] = {inputs[0], inputs[1]};
    if (broadcast_shapes(both) != inputs[0].shape)
      raise(ErrorKind::runtime_error, "copy_",
            "expected a source that broadcasts to the shape {}, got {}",
            to_string(DimSpan(inputs[0].shape)), to_string(DimSpan(inputs[1].shape)));
  }
  return {inputs[0]};
}

Tensor broadcast(const Tensor& x, const Shape& shape) {
  Strides strides(shape.size(), 0);
  std::size_t added = shape.size() - x.shape().size();
  for (std::size_t dim = 0; dim < x.shape().size(); ++dim)
    if (x.shape()[dim] != 1) strides[added + dim] = x.strides()[dim];
  return Tensor(x.storage(), x.dtype(), shape, strides, x.storage_offset());
}

// What was in self before gets no gradient.
Gradients replaced_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = zeros_like(g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, g);
  return result;
}

const Op copy_op = {
    .name = "copy",
    .shape = self_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor source = converted(inputs[1], outputs[0].dtype());
          copy_(outputs[0], broadcast(source, outputs[0].shape()));
        },
    .gradient = replaced_gradient,
};

const Op fill_op = {
    .name = "fill",
    .shape = self_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          DType dtype = outputs[0].dtype();
          Tensor value;
          if (inputs.size() > 1) {
            value = converted(inputs[1], dtype);
          } else {
            Number number = *number_in(attributes, "value");
            Tensor wide = number.is_floating()
                              ? tensor_of<double>({}, {number.as<double>()})
                              : tensor_of<std::int64_t>({}, {number.as<std::int64_t>()});
            value = converted(wide, dtype);
          }
          copy_(outputs[0], broadcast(value, outputs[0].shape()));
        },
    .gradient = replaced_gradient,
};

const Op* const inplace_list[] = {&copy_op, &fill_op};

// A result of a higher kind can't be written back.
void check_result_dtype(const Op& op, DType self, gsl::span<const Tensor> inputs,
                        const Attributes& attributes) {
  if (is_floating_point(self)) return;
  DType result = infer_types(op, types_of(inputs), attributes)[0].dtype;
  bool fits = !is_floating_point(result) && (self != DType::boolean || result == self);
  if (!fits)
    raise(ErrorKind::runtime_error, op.name,
          "result type {} can't be cast to the desired output "
          "type {}",
          to_string(result), to_string(self));
}

// Literal is a name as a template argument.
template <std::size_t N>
struct Literal {
  char text[N];
  consteval Literal(const char (&name)[N]) { std::copy(name, name + N, text); }
};

// named returns the op of a name, which is looked up once.
template <Literal name>
const Op& named() {
  static const Op* const op = find_op(name.text);
  SIMMESH_CHECK(op, "no op {}", name.text);
  return *op;
}

Tensor& in_place(const Op& op, Tensor& self, std::initializer_list<Tensor> inputs,
                 const Attributes& attributes = {}) {
  gsl::span<const Tensor> all(inputs.begin(), inputs.size());
  check_result_dtype(op, self.dtype(), all, attributes);
  call_in_place(op, self, all, attributes);
  return self;
}

template <Literal name>
Tensor& in_place(Tensor& self) {
  return in_place(named<name>(), self, {self});
}

Tensor& into(const Op& op, Tensor& out, std::initializer_list<Tensor> inputs,
             const Attributes& attributes = {}) {
  call_into(op, out, {inputs.begin(), inputs.size()}, attributes);
  return out;
}

Attributes with(std::string_view name, Number number) { return {{name, number.attribute()}}; }
Attributes scaled_other(Number other, Number alpha) {
  return {{"other", other.attribute()}, {"alpha", alpha.attribute()}};
}

Tensor& divide(Tensor& self, std::initializer_list<Tensor> inputs, Attributes attributes,
               RoundingMode rounding) {
  if (rounding == RoundingMode::none) return in_place(named<"div">(), self, inputs, attributes);
  attributes.set("rounding_mode", std::string(rounding == RoundingMode::trunc ? "trunc" : "floor"));
  return in_place(named<"div.Tensor_mode">(), self, inputs, attributes);
}

}  // namespace

Tensor& add_(Tensor& self, const Tensor& other, Number alpha) {
  return in_place(named<"add">(), self, {self, other}, with("alpha", alpha));
}
Tensor& add_(Tensor& self, Number other, Number alpha) {
  return in_place(named<"add">(), self, {self}, scaled_other(other, alpha));
}
Tensor& sub_(Tensor& self, const Tensor& other, Number alpha) {
  return in_place(named<"sub">(), self, {self, other}, with("alpha", alpha));
}
Tensor& sub_(Tensor& self, Number other, Number alpha) {
  return in_place(named<"sub">(), self, {self}, scaled_other(other, alpha));
}
Tensor& mul_(Tensor& self, const Tensor& other) {
  return in_place(named<"mul">(), self, {self, other});
}
Tensor& mul_(Tensor& self, Number other) {
  return in_place(named<"mul">(), self, {self}, with("other", other));
}
Tensor& div_(Tensor& self, const Tensor& other, RoundingMode rounding) {
  return divide(self, {self, other}, {}, rounding);
}
Tensor& div_(Tensor& self, Number other, RoundingMode rounding) {
  return divide(self, {self}, with("other", other), rounding);
}
Tensor& pow_(Tensor& self, Number exponent) {
  return in_place(named<"pow">(), self, {self}, with("exponent", exponent));
}
Tensor& addcmul_(Tensor& self, const Tensor& a, const Tensor& b, Number value) {
  return in_place(named<"addcmul">(), self, {self, a, b}, with("value", value));
}
Tensor& addcdiv_(Tensor& self, const Tensor& a, const Tensor& b, Number value) {
  return in_place(named<"addcdiv">(), self, {self, a, b}, with("value", value));
}
Tensor& lerp_(Tensor& self, const Tensor& end, Number weight) {
  return in_place(named<"lerp">(), self, {self, end}, with("weight", weight));
}
Tensor& lerp_(Tensor& self, const Tensor& end, const Tensor& weight) {
  return in_place(named<"lerp">(), self, {self, end, weight});
}

Tensor& maximum_(Tensor& self, const Tensor& other) {
  return in_place(named<"maximum">(), self, {self, other});
}
Tensor& neg_(Tensor& self) { return in_place<"neg">(self); }
Tensor& abs_(Tensor& self) { return in_place<"abs">(self); }
Tensor& sqrt_(Tensor& self) { return in_place<"sqrt">(self); }
Tensor& exp_(Tensor& self) { return in_place<"exp">(self); }
Tensor& reciprocal_(Tensor& self) { return in_place<"reciprocal">(self); }
Tensor& relu_(Tensor& self) { return in_place<"relu">(self); }
Tensor& floor_(Tensor& self) { return in_place<"floor">(self); }
Tensor& sigmoid_(Tensor& self) { return in_place<"sigmoid">(self); }
Tensor& tanh_(Tensor& self) { return in_place<"tanh">(self); }

Tensor& clamp_(Tensor& self, std::optional<Number> min, std::optional<Number> max) {
  return in_place(named<"clamp">(), self, {self}, clamp_bounds(self, min, max));
}
Tensor& masked_fill_(Tensor& self, const Tensor& mask, Number value) {
  return in_place(named<"masked_fill">(), self, {self, checked_mask(mask)}, with("value", value));
}
Tensor& fill_(Tensor& self, Number value) {
  return in_place(fill_op, self, {self}, with("value", value));
}
Tensor& fill_(Tensor& self, const Tensor& value) {
  if (value.dim() != 0)
    raise(ErrorKind::runtime_error, "fill_",
          "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
          value.dim());
  return in_place(fill_op, self, {self, value});
}
Tensor& zero_(Tensor& self) { return fill_(self, 0); }

Tensor& copy_from_(Tensor& self, const Tensor& source) {
  return in_place(copy_op, self, {self, source});
}

Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha) {
  return into(named<"add">(), out, {a, b}, with("alpha", alpha));
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha) {
  return into(named<"sub">(), out, {a, b}, with("alpha", alpha));
}
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return into(named<"mul">(), out, {a, b});
}
Tensor& div_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return into(named<"div">(), out, {a, b});
}

gsl::span<const Op* const> inplace_ops() { return inplace_list; }

}  // namespace simmesh
