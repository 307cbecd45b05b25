#pragma once

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/module.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"

// Shared parts of tests of parallel styles: a module on one device beside the same one,
// distributed.
namespace simmesh::tensor_parallel {

inline Tensor numbers(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::wide, .seed = seed});
}

inline void fill(nn::Module& module) {
  std::uint64_t seed = 100;
  nn::StateDict values = module.state_dict();
  for (auto& [name, tensor] : values) tensor = numbers(tensor.shape(), ++seed);
  module.load_state_dict(values);
}

inline Tensor whole(const Tensor& tensor) {
  return tensor.distribution() ? DTensor::of(tensor.detach()).full_tensor() : tensor.detach();
}

// expect_same_run runs both modules on an input, backward from a gradient, and compares outputs and
// all gradients bit for bit.
inline void expect_same_run(nn::Module& spread, nn::Module& single, const Tensor& input,
                            const Tensor& upstream) {
  Tensor x = input.detach().clone(), expected_x = input.detach().clone();
  set_requires_grad(x);
  set_requires_grad(expected_x);
  Tensor y = spread(x), expected = single(expected_x);
  EXPECT_SAME_BITS(whole(y), expected.detach());
  backward(y, {.gradients = {upstream}});
  backward(expected, {.gradients = {upstream}});
  EXPECT_SAME_BITS(whole(grad_of(x)), grad_of(expected_x));
  auto parameters = spread.named_parameters(), others = single.named_parameters();
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_SAME_BITS(whole(grad_of(parameters[i].second)), grad_of(others[i].second));
}

}  // namespace simmesh::tensor_parallel
