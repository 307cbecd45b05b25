#pragma once

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh::whole_tensor_oracle {

// Calls of elementwise functions, tried for all placements of their tensors.

using TensorSpan = gsl::span<const Tensor>;

// all_kinds is R, the shards of so many dims, and the partial placements.
inline Placements all_kinds(std::int64_t dims) {
  return shards_and(dims, {Partial(ReduceOp::sum), Partial(ReduceOp::avg), Partial(ReduceOp::max),
                           Partial(ReduceOp::min)});
}

// A third of a number isn't exact: where parts are computed with, ranks are two or four.
inline const Worlds halves = {.meshes = {{2}, {4}}};

inline Call call_of_one(const char* name, Tensor (*f)(const Tensor&), Placements alphabet) {
  alphabet.push_back(StridedShard(0, 2));
  return {.name = name,
          .inputs = {{.shape = {5, 2}, .alphabet = std::move(alphabet)}},
          .function = [f](TensorSpan x) { return std::vector<Tensor>{f(x[0])}; }};
}

inline void expect_of_one(const char* name, Tensor (*f)(const Tensor&)) {
  expect_whole_bits(call_of_one(name, f, all_kinds(2)));
}

// expect_of_curve is for functions whose gradient is a product with a rounded number: with the
// parts of a partial sum that is right up to rounding only.
inline void expect_of_curve(const char* name, Tensor (*f)(const Tensor&)) {
  Call forward = call_of_one(name, f, all_kinds(2));
  forward.has_gradient = false;
  expect_whole_bits(forward);
  expect_whole_bits(
      call_of_one(name, f, shards_and(2, {Partial(ReduceOp::max), Partial(ReduceOp::min)})));
}

inline void expect_of_two(const char* name, Tensor (*f)(const Tensor&, const Tensor&),
                          bool has_gradient = true) {
  expect_whole_bits({.name = name,
                     .inputs = {{.shape = {5, 2}, .alphabet = all_kinds(2)},
                                {.shape = {5, 2}, .alphabet = all_kinds(2)}},
                     .function = [f](TensorSpan x) { return std::vector<Tensor>{f(x[0], x[1])}; },
                     .has_gradient = has_gradient},
                    halves);
}

}  // namespace simmesh::whole_tensor_oracle
