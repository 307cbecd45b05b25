#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::pipeline {

// StepValue is an argument of a step: a tensor or a number or text, none of which has a device.
using StepValue = std::variant<Tensor, std::int64_t, double, bool, std::string>;

// StepArgument is a value and the dim along which it is cut into micro-batches. A tensor without
// such a dim and any other value are given to every micro-batch as they are.
struct StepArgument {
  StepValue value;
  std::optional<std::int64_t> split_dim;

  // of cuts a tensor along dim 0, as it is done by default.
  static StepArgument of(StepValue value);
  static StepArgument replicated(StepValue value) { return {std::move(value), std::nullopt}; }
};

// StepArguments are all arguments of a step, MicrobatchArguments those of one micro-batch.
struct StepArguments {
  std::vector<StepArgument> args = {};
  std::map<std::string, StepArgument> kwargs = {};
};
struct MicrobatchArguments {
  std::vector<StepValue> args;
  std::map<std::string, StepValue> kwargs;
};

// split_into_chunks cuts arguments into micro-batches: `chunks` of them, or fewer where a tensor
// has fewer indices along its dim. Of size / chunks indices each, the first size mod chunks pieces
// have one more. Pieces are views, so gradients reach the tensor. Raises an IndexError for a dim
// that a tensor doesn't have, a ValueError for a dim of a value that isn't a tensor, and a
// RuntimeError where no chunk is left.
std::vector<MicrobatchArguments> split_into_chunks(const StepArguments& arguments,
                                                   std::int64_t chunks);

}  // namespace simmesh::pipeline
