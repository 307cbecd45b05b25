#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/deepspeed/deepspeed_files.h"
#include "checkpoint/torch_file/torch_file.h"

namespace simmesh::checkpoint {

// UniversalStates are the files of a universal checkpoint of DeepSpeed's ds_to_universal. Each
// parameter has a folder zero/NAME with a file for each of its values: fp32.pt, exp_avg.pt,
// exp_avg_sq.pt and step.pt. One more file has the optimiser's other values.
class UniversalStates {
 public:
  // Store and files must outlive this.
  UniversalStates(const Store& store, const DeepSpeedFiles& files);

  // keys returns the keys of a parameter's values, ascending: "exp_avg", ..., "fp32", "step".
  // Raises a ValueError if there is no fp32.
  std::vector<std::string> keys(const std::string& parameter) const;
  // tensor returns a value under another name. Files of stage 3 have all elements in one dim.
  // Raises a ValueError that names the file if its number of elements isn't that of the shape.
  StoredTensor tensor(const std::string& parameter, const std::string& key, const std::string& name,
                      const Shape& shape) const;
  // steps returns the number of the optimiser's steps of a parameter, nullopt if there is no file.
  std::optional<std::int64_t> steps(const std::string& parameter) const;
  // common returns the optimiser's other values, null if there is no file of them.
  PickleValue common() const { return common_ ? common_->root() : nullptr; }

 private:
  TorchFile file(const std::string& path) const;

  const Store& store_;
  const DeepSpeedFiles& files_;
  std::optional<TorchFile> common_;
};

}  // namespace simmesh::checkpoint
