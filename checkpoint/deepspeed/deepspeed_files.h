#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// DeepSpeedFiles are the files of one checkpoint of DeepSpeed, in a folder such as global_step10.
struct DeepSpeedFiles {
  std::string folder;
  std::vector<std::string> model;      // by rank; one file unless parameters are partitioned
  std::vector<std::string> optimizer;  // by rank; none without ZeRO, or in a universal checkpoint
  std::vector<std::string> universal;  // zero/*/*.pt of a universal checkpoint, ascending
};

// find_deepspeed_files returns the files of a checkpoint, or of the checkpoint that a run's folder
// names in its file `latest`, or else `latest_universal`. Returns nullopt if there are no files of
// DeepSpeed. Raises a ValueError for files of several model-parallel ranks, of pipeline stages or
// of experts, and if the files of a rank are missing.
std::optional<DeepSpeedFiles> find_deepspeed_files(const Store& store, const std::string& folder);

}  // namespace simmesh::checkpoint
