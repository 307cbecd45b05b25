#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/rank.h"
#include "training/training.h"

namespace simmesh {

// RecordedTensor is a tensor's name and bits, outside of any rank.
struct RecordedTensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// RunRecord is all that a training run gives, in a fixed order: for each step its loss, the norm of
// its gradients and these, then parameters and state of the optimiser.
using RunRecord = std::vector<RecordedTensor>;

// named_results returns the tensors of a run with what they are: "step 1 gradient of
// block0.attn.wq.weight".
std::vector<nn::NamedTensor> named_results(const TrainingResult& result);

// record_results folds them into the rank's data hash.
void record_results(Rank& rank, const std::vector<nn::NamedTensor>& results);

// copy_of copies them off the rank.
RunRecord copy_of(const std::vector<nn::NamedTensor>& results);

// Difference is the first place where a rank's results aren't those of a record.
struct Difference {
  std::string where;     // "step 0 loss" or "parameter fc0.weight, element [1, 2]"
  std::string expected;  // value and bits
  std::string actual;
  // A tensor of zeros that the record doesn't have: a gradient that only this run has.
  bool is_extra_zeros = false;
};

// first_difference compares names, dtypes, shapes and all bits; nothing where they are equal.
std::optional<Difference> first_difference(const RunRecord& expected,
                                           const std::vector<nn::NamedTensor>& actual);

}  // namespace simmesh
