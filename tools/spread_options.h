#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>

#include "tools/run_options.h"

namespace simmesh {

// SpreadOptions are the options of a subcommand whose worlds can be spread over processes: of this
// machine, or of MPI.
class SpreadOptions {
 public:
  // add_to adds --processes and --spread. `jobs` are what the processes of MPI share otherwise.
  void add_to(CLI::App& app, const std::string& jobs);
  bool is_given() const { return processes_ > 1 || spread_; }

  // expect_possible raises a ValueError for processes in processes, for --spread without MPI, and
  // for more than one thread.
  void expect_possible(const RunWords& words, std::int64_t jobs) const;

  // run calls `work` in each of the processes, or only calls it if none were asked for. See
  // run_in_processes.
  int run(const std::function<int()>& work) const;

 private:
  std::int64_t processes_ = 1;
  bool spread_ = false;
};

}  // namespace simmesh
