#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <gsl/span>
#include <string>
#include <vector>

#include "core/findings/judged_checks.h"
#include "core/shards/report_block.h"

namespace simmesh {

// FindingsOption is the option --findings FILE of a subcommand that checks something.
//
//   arguments->findings.begin();
//   ...
//   arguments->findings.write([&] { return judged_checks(result); });
class FindingsOption {
 public:
  void add_to(CLI::App& app) {
    app.add_option(
           "--findings", path_,
           "file for each finding as a line of JSON (.jsonl), as SARIF (.sarif), or for all "
           "checks as JUnit's XML (.xml)")
        ->configurable(false)
        ->type_name("OUT");
  }

  // is_given is true if the option is.
  bool is_given() const { return !path_.empty(); }

  // begin raises if the file can't be written, or has no known ending.
  void begin() const {
    if (is_given()) expect_findings_file(path_);
  }

  // write writes the checks that a function returns, if the option is given.
  template <class Checks>
  void write(const Checks& checks) const {
    if (is_given()) write_findings(path_, checks());
  }

 private:
  std::string path_;
};

// checks_of_each returns the checks that a function returns of each block, in order.
inline std::vector<JudgedCheck> checks_of_each(
    gsl::span<const ReportBlock> blocks,
    const std::function<std::vector<JudgedCheck>(const ReportBlock&)>& checks_of) {
  std::vector<JudgedCheck> all;
  for (const ReportBlock& block : blocks)
    for (JudgedCheck& check : checks_of(block)) all.push_back(std::move(check));
  return all;
}

}  // namespace simmesh
