#pragma once

#include <initializer_list>
#include <string>

#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

// Shared parts of the tests of known faults. Each is named after a fault that PyTorch's DTensor has
// or had, by the number of its issue or the release, and shows what is right.
namespace simmesh::known_faults {

using whole_tensor_oracle::Outputs;
using Given = gsl::span<const Tensor>;

inline const Placement whole = Replicate(), total = Partial(), average = Partial(ReduceOp::avg),
                       largest = Partial(ReduceOp::max), least = Partial(ReduceOp::min);

// numbers returns small whole numbers, so that sums of them are exact.
inline Tensor numbers(std::initializer_list<std::int64_t> shape, std::uint64_t seed = 1) {
  return formula(Shape(shape), {.rule = Rule::small, .seed = seed});
}
inline Tensor fractions(std::initializer_list<std::int64_t> shape, std::uint64_t seed = 1) {
  return formula(Shape(shape), {.rule = Rule::unit, .seed = seed});
}

// laid redistributes a tensor that every rank holds to placements that may be partial; joined is
// the inverse; layout returns a tensor's placements.
inline Tensor laid(const Tensor& tensor, const DeviceMesh& mesh, const Placements& placements) {
  return whole_tensor_oracle::distributed(tensor, mesh, placements).as_tensor();
}
inline Tensor joined(const Tensor& tensor) { return DTensor::of(tensor).full_tensor(); }
inline std::string layout(const Tensor& tensor) {
  return to_string(DTensor::of(tensor).placements());
}

// LaidOut is an input of a call, and its placements.
struct LaidOut {
  Shape shape;
  Placements placements;
};

// expect_like_one_device expects a function of distributed tensors to have the outputs, and its
// first output the gradients, that it has on whole ones, bit for bit.
inline void expect_like_one_device(const DeviceMesh& mesh, const char* name,
                                   std::initializer_list<LaidOut> inputs,
                                   const std::function<Outputs(Given)>& function,
                                   bool has_gradient = true) {
  whole_tensor_oracle::Call call{name, {}, function, has_gradient};
  std::vector<const Placements*> placements;
  for (const LaidOut& input : inputs) {
    call.inputs.push_back({.shape = input.shape});
    placements.push_back(&input.placements);
  }
  whole_tensor_oracle::Trial(call, mesh, placements).run();
}

}  // namespace simmesh::known_faults
