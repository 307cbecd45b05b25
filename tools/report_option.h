#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/page/report_page.h"

namespace simmesh {

// ReportOption is the option --report of a subcommand: the file of a page that shows what came of
// its work.
class ReportOption {
 public:
  // add_to adds the option, under a second name if one is given.
  void add_to(CLI::App& app, const std::string& second_name = {});
  bool is_given() const { return !path_.empty(); }

  // expect_writable raises a ValueError for a file that doesn't end in .html, or that can't be
  // written. Call it before the work.
  void expect_writable() const;
  void write(const PageReport& report) const;

  // command returns the line that makes the report again: the subcommand with its arguments, as
  // they were given.
  std::string command() const;

 private:
  const CLI::App* app_ = nullptr;
  std::string path_;
};

}  // namespace simmesh
