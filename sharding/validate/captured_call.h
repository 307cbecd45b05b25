#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// CapturedCall is an op that a function of tensors called, with its arguments.
struct CapturedCall {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<Tensor> inputs;  // as they were before; absent ones undefined
  // The tensor of the function that an input is; nothing for others.
  std::vector<std::optional<std::size_t>> of_function;
  std::vector<Tensor> outputs;
};

// Capture is the record of a function's call: the ops that it called, in order, and its results.
struct Capture {
  std::vector<CapturedCall> calls;
  std::vector<Tensor> outputs;
};

// TensorFunction is a function of tensors, which it may change in place.
using TensorFunction = std::function<std::vector<Tensor>(gsl::span<const Tensor> inputs)>;

// capture runs a function on copies of plain tensors and watches which ops it calls.
//
//   std::vector<Tensor> given = {x};
//   Capture seen = capture(given, [](auto in) { return std::vector{reshape(in[0], {-1})}; });
//   seen.calls[0].op->name;   // "view"
Capture capture(gsl::span<const Tensor> inputs, const TensorFunction& function);

}  // namespace simmesh
