#pragma once

#include <string>

#include "checkpoint/catalog/state_dict.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint::testing {

// sample_whole returns the values of a sample tensor in a round of training.
inline Tensor sample_whole(const Shape& shape, DType dtype, std::uint64_t round) {
  return formula(shape, {.rule = dtype == DType::boolean ? Rule::boolean : Rule::wide,
                         .seed = round * 100 + std::uint64_t(numel(shape)),
                         .dtype = dtype});
}

// SampleTensor is a sample tensor with its placements. Without placements every rank has all of it.
struct SampleTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  Placements placements = {};
};

// sample_tensors returns tensors that are uneven, smaller than a mesh, empty, without dims, and of
// integers and flags.
inline std::vector<SampleTensor> sample_tensors(const Placement& placement) {
  return {{"model.weight", {5, 3}, DType::float32, {placement}},
          {"model.half", {4, 2}, DType::bfloat16, {placement}},
          {"model.few", {1, 4}, DType::float64, {placement}},
          {"model.none", {0, 3}, DType::float32, {placement}},
          {"model.scalar", {}, DType::float32, {}},
          {"optim.ids", {7}, DType::int64, {placement}},
          {"optim.mask", {6}, DType::boolean, {Replicate()}},
          {"optim.bytes", {3}, DType::uint8, {}}};
}

// sample_state returns the tensors with the values of a round, or with zeros.
inline StateDict sample_state(const DeviceMesh& mesh, const std::vector<SampleTensor>& samples,
                              std::uint64_t round) {
  StateDict state;
  for (const SampleTensor& sample : samples) {
    Tensor values = round == 0 ? zeros(sample.shape, sample.dtype)
                               : sample_whole(sample.shape, sample.dtype, round);
    if (!sample.placements.empty())
      values = distribute_tensor(values, mesh, sample.placements, {.from_first_rank = false})
                   .as_tensor();
    state.add(sample.name, values);
  }
  state.add("step", std::int64_t(round));
  return state;
}

// has_round is true if all of a state's values are those of a round.
inline bool has_round(const StateDict& state, const std::vector<SampleTensor>& samples,
                      std::uint64_t round) {
  for (const SampleTensor& sample : samples) {
    const Tensor& tensor = std::get<Tensor>(*state.find(sample.name));
    Tensor expected = sample_whole(sample.shape, sample.dtype, round);
    Tensor whole = tensor.distribution() ? DTensor::of(tensor).full_tensor() : tensor;
    if (!same_bits(whole, expected)) return false;
  }
  return state.number("step") == std::int64_t(round);
}

}  // namespace simmesh::checkpoint::testing
