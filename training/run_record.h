#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/ranks/rank.h"
#include "training/training.h"

namespace simmesh {

// RecordedTensor is the name and the bits of a tensor, kept outside any rank.
struct RecordedTensor {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// RunRecord is every result of a training run, in a fixed order: for each step the loss, the norm
// of the gradients and the gradients; then the parameters and the state of the optimiser.
using RunRecord = std::vector<RecordedTensor>;

// named_results returns the tensors of a run with their names, such as "step 1 gradient of
// block0.attn.wq.weight".
std::vector<nn::NamedTensor> named_results(const TrainingResult& result);

// from_step returns a record without the steps before one: the results of a run that starts there.
RunRecord from_step(const RunRecord& record, std::int64_t first_step);

// record_results folds named results into the data hash of the rank.
void record_results(Rank& rank, const std::vector<nn::NamedTensor>& results);

// copy_of copies named results, so that they outlive the rank.
RunRecord copy_of(const std::vector<nn::NamedTensor>& results);

// Difference is the first place in which the results of a rank differ from a record.
struct Difference {
  std::string where;     // "step 0 loss" or "parameter fc0.weight, element [1, 2]"
  std::string expected;  // value and bits
  std::string actual;
  // True if the difference is a tensor of zeros that only this run has, such as the gradient of an
  // unused parameter.
  bool is_extra_zeros = false;
};

// first_difference compares names, dtypes, shapes and all bits; nullopt if they are equal.
std::optional<Difference> first_difference(const RunRecord& expected,
                                           const std::vector<nn::NamedTensor>& actual);

}  // namespace simmesh
