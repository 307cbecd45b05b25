#pragma once

#include <CLI/CLI.hpp>
#include <gsl/span>
#include <string>
#include <vector>

#include "core/findings/judged_checks.h"

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

// add_checks adds the checks at the end.
inline void add_checks(std::vector<JudgedCheck>& all, std::vector<JudgedCheck> checks) {
  for (JudgedCheck& check : checks) all.push_back(std::move(check));
}

}  // namespace simmesh
