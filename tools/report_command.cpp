#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/check/one_line.h"
#include "core/check/read_file.h"
#include "core/page/page_difference.h"
#include "core/page/report_page.h"
#include "tools/commands.h"
#include "tools/terminal.h"

namespace simmesh {

namespace {

struct ReportArguments {
  std::vector<std::string> files;
  bool diffs = false;
  bool json = false;
};

JsonValue data_in(const std::string& path) {
  std::string text = read_file({.where = "tools/report",
                                .what = "a report",
                                .path = path,
                                .bytes_max = std::size_t(1) << 30});
  return data_of_page(text, path);
}

int print_difference(const ReportArguments& arguments) {
  auto found = first_page_difference(data_in(arguments.files[0]), data_in(arguments.files[1]));
  if (arguments.json) {
    JsonValue json = JsonValue::object({{"differs", found.has_value()}});
    if (found) {
      json.set("where", found->where);
      json.set("first", found->first);
      json.set("second", found->second);
    }
    print_report(json.text_utf8() + "\n");
  } else if (found) {
    print_report(fmt::format("first difference: {}\n  {}: {}\n  {}: {}\n", one_line(found->where),
                             arguments.files[0], one_line(found->first), arguments.files[1],
                             one_line(found->second)));
  } else {
    print_report("no difference\n");
  }
  return found ? 1 : 0;
}

int run_report(const ReportArguments& arguments) {
  std::size_t expected = arguments.diffs ? 2 : 1;
  if (arguments.files.size() != expected)
    raise(ErrorKind::value_error, "tools/report", "expected {}, got {}",
          arguments.diffs ? "two reports with --diff" : "one report, or two with --diff",
          arguments.files.size());
  if (arguments.diffs) return print_difference(arguments);
  JsonValue data = data_in(arguments.files[0]);
  const JsonValue* summary = data.find("summary");
  print_report(arguments.json || !summary || !summary->get<std::string>()
                   ? data.text_utf8() + "\n"
                   : one_line(*summary->get<std::string>()) + "\n");
  return 0;
}

}  // namespace

void add_report_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* app = program.add_subcommand(
      "report", "reads pages that --report wrote: their summary, their data, their differences");
  app->add_option("REPORT", arguments->files, "pages, or files with their data")->required();
  app->add_flag("--diff", arguments->diffs,
                "print the first difference between two reports; status 1 if there is one");
  app->add_flag("--json", arguments->json,
                "print the data of the page, or the difference, as JSON");
  app->callback([arguments, &status] { status = run_report(*arguments); });
}

}  // namespace simmesh
