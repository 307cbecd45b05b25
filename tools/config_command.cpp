#include <fmt/core.h>
#include <memory>
#include <sstream>

#include "core/check/error.h"
#include "tools/commands.h"
#include "tools/run_options.h"
#include "tools/terminal.h"
#include "tools/whole_number.h"
#include "zero/config/config_autos.h"
#include "zero/config/hjson.h"
#include "zero/engine/config_report.h"

namespace simmesh {

namespace {

struct ConfigArguments {
  std::string file;
  std::int64_t ranks = 1;
  std::int64_t parameters = 0;
  std::vector<std::string> autos;
  OutputOptions output;
};

// The parts of "hidden_size=4096,betas=0.9,0.95": a part without a name continues the last.
std::vector<std::string> assignments_of(const std::vector<std::string>& lists) {
  std::vector<std::string> assignments;
  for (const std::string& list : lists) {
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');)
      if (part.find('=') == part.npos && !assignments.empty())
        assignments.back() += "," + part;
      else
        assignments.push_back(part);
  }
  return assignments;
}

// Resolves "auto" first: one without a value is bad input, and no fault of the file.
JsonValue config_of(const ConfigArguments& arguments) {
  JsonValue config = zero::read_hjson_file(arguments.file);
  zero::AutoValues autos;
  for (const std::string& assignment : assignments_of(arguments.autos))
    zero::read_auto(assignment, autos);
  if (config.get<JsonValue::Object>() != nullptr) zero::resolve_autos(config, autos);
  return config;
}

int print_config(const ConfigArguments& arguments) {
  zero::ConfigQuestion question{.config = config_of(arguments), .ranks = arguments.ranks};
  if (arguments.parameters > 0) question.parameters = arguments.parameters;
  std::string last = "right";
  JsonValue values = JsonValue::object();
  try {
    zero::ConfigReport report = zero::report_config(question);
    if (arguments.output.json)
      values = report.to_json();
    else if (!arguments.output.quiet)
      print_report(report.to_text());
  } catch (const Error& error) {
    last = fmt::format("wrong: {}: {}", to_string(error.kind()), error.message());
  }
  if (arguments.output.json) {
    values.set("result", last);
    print_report(values.text_utf8() + "\n");
  } else {
    print_report(last + "\n");
  }
  return last == "right" ? 0 : 1;
}

}  // namespace

void add_config_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* app = program.add_subcommand(
      "config",
      "judges a DeepSpeed configuration as DeepSpeed does, and prints what holds and what each key "
      "costs; last line: right, or wrong: why");
  app->add_option("FILE", arguments->file, "the configuration, such as ds_config.json")->required();
  app->add_option("--ranks", arguments->ranks, "the number of ranks")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20));
  app->add_option("--auto", arguments->autos,
                  "values that \"auto\" stands for, for instance hidden_size=4096,lr=1e-4");
  app->add_option("--parameters", arguments->parameters,
                  "elements of the model's parameters, for costs in bytes")
      ->check(whole_number(1, std::uint64_t(1) << 50));
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = print_config(*arguments); });
}

}  // namespace simmesh
