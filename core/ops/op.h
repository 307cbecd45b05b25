#pragma once

#include <cstdint>
#include <functional>
#include <gsl/span>
#include <memory>
#include <string>
#include <vector>

#include "core/ops/attributes.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// TensorType is the part of a tensor that a shape rule knows. An absent optional input is not
// defined.
struct TensorType {
  Shape shape;
  DType dtype = DType::float32;
  bool is_defined = true;

  bool operator==(const TensorType&) const = default;
};
using TensorTypes = std::vector<TensorType>;

// type_of returns a tensor's shape and dtype.
TensorType type_of(const Tensor& tensor);
TensorTypes types_of(gsl::span<const Tensor> tensors);

// Destination is where the output of a call goes: into a new tensor, into its first input, or into
// a given tensor.
enum class Destination : std::uint8_t { fresh, in_place, out };

// OpCall is one call of an op: its tensors, absent optional ones undefined, its other arguments,
// and where its output goes.
struct OpCall {
  const struct Op& op;
  gsl::span<const Tensor> inputs;
  const Attributes& attributes;
  Destination destination = Destination::fresh;
  const Tensor* out = nullptr;  // for Destination::out
};

// ShardingStrategy is how an op runs on distributed tensors; sharding/propagation defines it.
struct ShardingStrategy;

// Gradients are the result of a gradient rule: one tensor of the input's type for each input,
// undefined where the input gets none.
using Gradients = std::vector<Tensor>;

class GradientCall;

// ShapeRule returns the types of the outputs, and raises for inputs that are wrong.
using ShapeRule =
    std::function<TensorTypes(gsl::span<const TensorType> inputs, const Attributes& attributes)>;
// Kernel fills the outputs, which are allocated, contiguous and of the types of the shape rule.
// Inputs may be strided.
using Kernel = std::function<void(gsl::span<const Tensor> inputs, const Attributes& attributes,
                                  gsl::span<Tensor> outputs)>;
// ViewRule returns views of the storage of the first input, by strides alone.
using ViewRule = std::function<std::vector<Tensor>(gsl::span<const Tensor> inputs,
                                                   const Attributes& attributes)>;
// GradientRule returns one gradient for each input, in terms of ops, so that it can be
// differentiated.
using GradientRule = std::function<Gradients(const GradientCall& call)>;

// Saves names the tensors of an op that its gradient rule reads, as bits by position.
struct Saves {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  // crosswise saves one of these inputs only where another of them requires a gradient: products.
  bool crosswise = false;
  // Inputs, by position, that are saved only where another one requires a gradient.
  std::uint32_t for_others = 0;

  static constexpr std::uint32_t all = ~std::uint32_t(0);
};

// Gradient is how an op is differentiated: a rule, and the tensors of the call that it reads.
struct Gradient {
  GradientRule rule = {};
  Saves saves = {};
};

// Op is the one definition of an operation on tensors: its name, and a shape rule with a kernel, or
// a view rule instead of both. Code that runs on one device, records the tape or cuts tensors over
// a mesh reads it from here. An op must outlive the tapes it is recorded on.
//
// A user's op brings its gradient along. The gradients of the library's ops are in core/gradients,
// above all ops, since they are made of ops of any family; gradient_of finds either. Sharding
// strategies are likewise in sharding/strategies.
//
//   inline const Op scale_rows = {
//       .name = "my::scale_rows",
//       .shape = [](auto inputs, const Attributes&) { return TensorTypes{inputs[0]}; },
//       .kernel = [](auto inputs, const Attributes&, auto outputs) {
//         copy_(outputs[0], inputs[0] * inputs[1].unsqueeze(1));
//       },
//       .gradient = {[](const GradientCall& call) {
//                      Tensor g = call.gradient();
//                      return Gradients{g * call.input(1).unsqueeze(1), sum(g * call.input(0), 1)};
//                    },
//                    {.inputs = 0b11}}};
struct Op {
  std::string name;
  ShapeRule shape = {};
  Kernel kernel = {};
  ViewRule view = {};
  Gradient gradient = {};
  // moves says that elements of the outputs are elements of the inputs, as those of a view are: an
  // unrounded gradient then passes through its gradient rule unrounded.
  bool moves = false;
  // makes_several says that a view op makes several views: the tape refuses changes of those in
  // place. writes_alike says that elements that share memory get the same value, so that a change
  // in place may write them several times.
  bool makes_several = false;
  bool writes_alike = false;
  std::shared_ptr<const ShardingStrategy> strategy = {};
};

}  // namespace simmesh
