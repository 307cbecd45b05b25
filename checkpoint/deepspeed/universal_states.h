#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/torch_file/torch_file.h"

namespace simmesh::checkpoint {

// UniversalStates are the files of a universal checkpoint, as DeepSpeed's ds_to_universal writes
// it: for each parameter a folder zero/NAME with a file for each of its values, fp32.pt,
// exp_avg.pt, exp_avg_sq.pt and step.pt, and one with what the optimiser has beside them.
class UniversalStates {
 public:
  // Store, files and dialect live longer.
  UniversalStates(const Store& store, const DeepSpeedFiles& files, const PickleDialect& dialect);

  // keys returns the values of a parameter, ascending: "exp_avg", ..., "fp32", "step". Raises a
  // ValueError where it has no fp32.
  std::vector<std::string> keys(const std::string& parameter) const;
  // tensor returns one of them under another name; of stage 3 all elements stand in one dim. Raises
  // a ValueError that names the file where it has other elements than the shape.
  StoredTensor tensor(const std::string& parameter, const std::string& key, const std::string& name,
                      const Shape& shape) const;
  // steps returns how many the optimiser made with a parameter; nullopt where no file says so.
  std::optional<std::int64_t> steps(const std::string& parameter) const;
  // common returns what the optimiser has beside its values; null where there is no file of it.
  PickleValue common() const { return common_ ? common_->root() : nullptr; }

 private:
  TorchFile file(const std::string& path) const;

  const Store& store_;
  const DeepSpeedFiles& files_;
  const PickleDialect& dialect_;
  std::optional<TorchFile> common_;
};

}  // namespace simmesh::checkpoint
