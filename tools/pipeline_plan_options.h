#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/run_options.h"

namespace simmesh {

// PipelinePlanOptions is `simmesh plan --pipeline NAME`: the orders of a pipeline schedule, its
// peaks and its bubble.
struct PipelinePlanOptions {
  std::string schedule;  // empty where another plan is asked for
  std::int64_t ranks = 0;
  std::int64_t microbatches = 0;
  std::int64_t stages_per_rank = 0;  // 0: what the schedule needs, one or two
  bool all_actions = false;

  // add_to adds the options to the subcommand.
  void add_to(CLI::App& app);

  // run prints the plan, and writes its picture into a file unless the path is empty. Raises as
  // build_schedule does, and a ValueError for a picture that isn't SVG.
  void run(const OutputOptions& output, const std::string& picture) const;
};

}  // namespace simmesh
