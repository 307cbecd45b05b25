#include "tools/report_option.h"

#include <set>

#include "core/check/error.h"
#include "core/check/shell_word.h"
#include "core/check/write_file.h"

namespace simmesh {

void ReportOption::add_to(CLI::App& app, const std::string& second_name) {
  app_ = &app;
  app.add_option(second_name.empty() ? "--report" : "--report," + second_name, path_,
                 "write what came of it as one page, which needs no other file and no network")
      ->type_name("OUT.html")
      ->configurable(false);
}

void ReportOption::expect_writable() const {
  if (!is_given()) return;
  if (!path_.ends_with(".html"))
    raise(ErrorKind::value_error, "tools/report",
          "--report: expected a file that ends in .html, got '{}'", path_);
  simmesh::expect_writable(path_, "the report");
}

void ReportOption::write(const PageReport& report) const {
  write_file(path_, report_page(to_json(report)), "the report");
}

std::string ReportOption::command() const {
  std::string line = "simmesh " + app_->get_name();
  std::set<const CLI::Option*> seen;
  for (const CLI::Option* option : app_->parse_order()) {
    if (!seen.insert(option).second) continue;
    std::string name = option->get_positional() ? "" : " " + option->get_name();
    if (option->get_items_expected_max() == 0)
      line += name;
    else
      for (const std::string& word : option->results()) line += name + " " + shell_word(word);
  }
  return line;
}

}  // namespace simmesh
