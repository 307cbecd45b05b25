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

// TensorType is what a shape rule knows of a tensor. An absent optional input is not defined.
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

// Destination says where the output of a call goes: into a new tensor, into its first input, or
// into a tensor that is given.
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

// ShardingStrategy is how an op runs on distributed tensors: sharding/propagation says what that
// is.
struct ShardingStrategy;

// Gradients are what a gradient rule returns: one tensor of the input's type for each input,
// undefined where the input gets none.
using Gradients = std::vector<Tensor>;

class GradientCall;

// ShapeRule returns the types of the outputs, and raises what is wrong with the inputs.
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

// Saves says which tensors of an op its gradient rule reads, as bits by position.
struct Saves {
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  // crosswise saves one of these inputs only where another of them requires a gradient: products.
  bool crosswise = false;
  // Inputs, by position, that are saved only where another one requires a gradient.
  std::uint32_t for_others = 0;

  static constexpr std::uint32_t all = ~std::uint32_t(0);
};

// Gradient is how an op is differentiated: a rule, and what that reads of the call.
struct Gradient {
  GradientRule rule = {};
  Saves saves = {};
};

// Op is the one definition of an operation on tensors: its name, and a shape rule with a kernel, or
// a view rule instead of both. What runs on one device, records the tape, or cuts tensors over a
// mesh, reads it from here. An op must outlive the tapes it is recorded on.
//
// An op of one's own brings its gradient along. Those of the library's ops stand above all of them,
// in core/gradients, since they are made of ops of any family; gradient_of finds either. So it is
// with sharding strategies, which stand in sharding/strategies.
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
  // moves says that elements of the outputs are elements of the inputs, as those of a view are: a
  // gradient that is a sum goes through its gradient rule unrounded.
  bool moves = false;
  std::shared_ptr<const ShardingStrategy> strategy = {};
};

}  // namespace simmesh
