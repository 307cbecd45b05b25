#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/check/json_value.h"
#include "core/check/write_file.h"
#include "sharding/picture/plan_picture.h"
#include "sharding/redistribute/plan_report.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "tools/commands.h"
#include "tools/lost_trace.h"
#include "tools/pipeline_plan_options.h"
#include "tools/run_options.h"
#include "tools/terminal.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

struct PlanArguments {
  std::string mesh, shape, dtype = "float32", from, to, planner = "automatic",
                           release = std::string(to_string(newest_release));
  std::vector<std::string> flattened;
  std::int64_t devices_per_host = 1;
  std::string picture;
  OutputOptions output;
  PipelinePlanOptions pipeline;
};

// Reads "2x4"; an empty text is the shape of a scalar.
Dims parse_sizes(std::string_view text, const char* option) {
  Dims sizes;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find('x'));
    std::int64_t size = 0;
    auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), size);
    bool is_last = item.size() == rest.size();
    bool good = error == std::errc() && end == item.data() + item.size() && size >= 0 &&
                (is_last || item.size() + 1 < rest.size());
    if (!good || std::int64_t(sizes.size()) == dims_max)
      raise(ErrorKind::value_error, "tools/plan", "{}: expected sizes such as 2x4, got '{}'",
            option, text);
    sizes.push_back(size);
    rest.remove_prefix(is_last ? rest.size() : item.size() + 1);
  }
  return sizes;
}

std::vector<PlannerChoice> parse_planner(const std::string& name) {
  if (name == "both") return {PlannerChoice::greedy, PlannerChoice::graph};
  return {planner_choice_from_string(name)};
}

PlanRequest request_of(const PlanArguments& arguments) {
  PlanRequest request{.shape = parse_sizes(arguments.shape, "--shape"),
                      .dtype = dtype_from_string(arguments.dtype),
                      .mesh_shape = parse_sizes(arguments.mesh, "--mesh"),
                      .from = parse_placements(arguments.from),
                      .to = parse_placements(arguments.to),
                      .release = parse_release(arguments.release)};
  request.topology.devices_per_host = arguments.devices_per_host;
  for (const std::string& list : arguments.flattened) {
    Dims dims = parse_sizes(list, "--flattened");
    request.flattened.push_back(dims);
  }
  numel(request.shape);
  return request;
}

// An infinite cost is written as in the recorded cases, for JSON has no number for it.
JsonValue to_json(double us) { return std::isinf(us) ? JsonValue("inf") : JsonValue(us); }

JsonValue to_json(const PlanReport& report) {
  JsonValue::List steps;
  for (const PlanReport::Step& step : report.steps)
    steps.push_back(JsonValue::object({{"step", step.text},
                                       {"collective", step.collective},
                                       {"after", step.after},
                                       {"bytes_per_rank", step.bytes_per_rank},
                                       {"bytes_per_link", step.bytes_per_link},
                                       {"cost_us", to_json(step.cost_us)}}));
  return JsonValue::object(
      {{"planner", report.planner}, {"steps", steps}, {"cost_us", to_json(report.cost_us)}});
}

// Returns the picture of a plan, as SVG or as text by the ending of the file name.
std::string picture_of(const Plan& plan, const PlanRequest& request, const std::string& path) {
  std::string ending = std::filesystem::path(path).extension();
  if (ending == ".svg") return plan_svg_picture(request.shape, request.mesh_shape, plan);
  if (ending == ".txt") return plan_text_picture(request.shape, request.mesh_shape, plan);
  raise(ErrorKind::value_error, "tools/plan",
        "--picture: expected a file that ends in .svg or .txt, got '{}'", path);
}

// The options without which there is no redistribution.
void require_redistribution(const CLI::App& app) {
  for (const char* name : {"--mesh", "--shape", "--from", "--to"})
    if (app.count(name) == 0) throw CLI::RequiredError(name);
}

void run(const PlanArguments& arguments) {
  PlanRequest request = request_of(arguments);
  std::vector<PlannerChoice> planners = parse_planner(arguments.planner);
  if (!arguments.picture.empty() && planners.size() > 1)
    raise(ErrorKind::value_error, "tools/plan", "--picture: expected one planner, got '{}'",
          arguments.planner);
  if (!arguments.picture.empty()) expect_writable(arguments.picture, "the picture");
  JsonValue::List plans;
  LostTrace lost;
  for (PlannerChoice choice : planners) {
    request.planner = choice;
    validate_local_redistribute(request);
    Plan plan = make_plan(request);
    validate_steps(plan, request);
    if (!arguments.picture.empty())
      lost.write([&] {
        write_file(arguments.picture, picture_of(plan, request, arguments.picture), "the picture");
      });
    PlanReport report = report_plan(plan, request);
    if (arguments.output.json)
      plans.push_back(to_json(report));
    else
      print_report(to_text(report, arguments.output.quiet));
  }
  if (arguments.output.json) print_report(JsonValue::object({{"plans", plans}}).text_utf8() + "\n");
  lost.raise_again();
}

}  // namespace

void add_plan_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* app = program.add_subcommand(
      "plan",
      "prints the plan of a redistribution: steps, bytes, cost; last line: cost: X (in us); or of "
      "a pipeline schedule");
  app->add_option("--mesh", arguments->mesh, "mesh sizes, for instance 2x4");
  app->add_option("--shape", arguments->shape, "tensor sizes, for instance 16x8");
  app->add_option("--dtype", arguments->dtype, "element type")->capture_default_str();
  app->add_option("--from", arguments->from, "placements, for instance \"S(0),R\"");
  app->add_option("--to", arguments->to, "placements, for instance \"R,S(1)\"");
  app->add_option("--planner", arguments->planner, "automatic, greedy, graph or both")
      ->capture_default_str();
  app->add_option("--release", arguments->release,
                  "the PyTorch whose behaviour is followed: 2.13 or 2.15")
      ->capture_default_str();
  app->add_option(
      "--flattened", arguments->flattened,
      "mesh dims over which the mesh is flattened, so that steps may merge; for instance 0x1");
  app->add_option("--devices-per-host", arguments->devices_per_host, "ranks per host")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20));
  app->add_option("--picture", arguments->picture,
                  "draw the shardings before and after each step into this file (.svg or .txt), or "
                  "the pipeline in time (.svg)");
  arguments->pipeline.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, app, &status] {
    if (!arguments->pipeline.schedule.empty()) {
      arguments->pipeline.run(arguments->output, arguments->picture);
    } else {
      require_redistribution(*app);
      run(*arguments);
    }
    status = 0;
  });
}

}  // namespace simmesh
