#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/ranks/rank.h"
#include "core/nn/module.h"
#include "core/tensor/chunk.h"
#include "gate/file.h"
#include "gate/run_options.h"
#include "training/run_record.h"

namespace simmesh {

// ModuleOutput is the output of one call of a module on a rank.
struct ModuleOutput {
  std::string module;
  std::int64_t call = 0;  // the number of the module's call
  Chunk rows = {};        // of the micro-batch that this rank has; all of it for a length of 0
  RecordedTensor tensor;
};

// ModuleOutputs records the outputs of all modules of a model on one rank, in the order in which
// they are computed, except what is below an nn::Moe, which sees only its own tokens.
class ModuleOutputs {
 public:
  explicit ModuleOutputs(std::int64_t rank)
      : rank_(rank), list_(std::make_shared<std::vector<ModuleOutput>>()) {}

  // recorder returns the function for GateRunner::Request::at_model.
  std::function<void(Rank& rank, nn::Module& model)> recorder() const;
  const std::vector<ModuleOutput>& list() const { return *list_; }
  std::int64_t rank() const { return rank_; }

 private:
  std::int64_t rank_;
  std::shared_ptr<std::vector<ModuleOutput>> list_;
};

// first_other_output trains on one device again, and names the first output of a layout's rank that
// isn't the rank's part of one device's. Empty if there is none among those that are comparable.
std::string first_other_output(const GateFile& gate, const GateRunOptions& options,
                               const GateSameAs& layout, const ModuleOutputs& outputs);

}  // namespace simmesh
