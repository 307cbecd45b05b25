#include "gate/compose/compose.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/check/read_file.h"
#include "core/engine/ordered_jobs.h"
#include "gate/checked_run.h"
#include "gate/compose/composition_shards.h"
#include "gate/compose/first_cause.h"
#include "gate/explain.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

constexpr std::string_view compose_source = "gate/compose";

std::string mesh_text(const GateLayout& mesh) {
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < mesh.shape.size(); ++i)
    dims.push_back(fmt::format("{} {}", mesh.names[i], mesh.shape[i]));
  return join_text(dims, ", ");
}

void expect_forms(const std::vector<std::string>& forms) {
  const std::vector<std::string>& known = layout_forms();
  for (const std::string& form : forms)
    if (std::find(known.begin(), known.end(), form) == known.end())
      raise(ErrorKind::value_error, compose_source, "expected some of {}, got '{}'",
            join_text(known, ", "), form);
}

bool is_asked_for(const ComposeLayout& layout, const ComposeRequest& request) {
  auto has = [&](const std::string& form) { return has_all_forms(layout.forms, {form}); };
  if (!request.layout.empty()) return layout.name == request.layout;
  if (std::any_of(request.without.begin(), request.without.end(), has)) return false;
  return request.only.empty() || std::any_of(request.only.begin(), request.only.end(), has);
}

// Returns the product of the numbers in a layout's name, which is its number of ranks.
std::int64_t ranks_of_name(const std::string& name) {
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < name.size(); ++i) {
    bool begins = i > 0 && (name[i - 1] == '=' || (name[i - 1] == 'x' && std::isdigit(name[i])));
    if (!begins) continue;
    std::int64_t size = 0;
    for (std::size_t j = i; j < name.size() && std::isdigit(name[j]) && size < 1'000'000; ++j)
      size = 10 * size + (name[j] - '0');
    ranks *= std::max<std::int64_t>(size, 1);
    if (ranks > 1'000'000) break;
  }
  return ranks;
}

// Returns `count` layouts from a list, or all of them.
std::vector<ComposeLayout> spread_evenly(std::vector<ComposeLayout> all, std::int64_t count) {
  std::size_t wanted = std::size_t(count);
  if (count == 0 || wanted >= all.size()) return all;
  std::vector<ComposeLayout> some;
  for (std::size_t i = 0; i < wanted; ++i) some.push_back(std::move(all[i * all.size() / wanted]));
  return some;
}

double factor_of(const ComposeLayout& layout, const ComposeRequest& request) {
  double factor = 1.0;
  for (const InjectedFault& fault : request.faults)
    if (has_all_forms(layout.forms, fault.forms)) factor *= fault.factor;
  return factor;
}

// Composer runs the layouts of one model.
class Composer {
 public:
  Composer(const GateFile& gate, const GateRunOptions& options, const ComposeRequest& request)
      : gate_(gate), options_(options), request_(request) {
    found_.file = gate.file;
    found_.title = gate.title;
    found_.flags = faults_text() + flags(options);
  }

  Composition all() {
    ComposeLayouts layouts = layouts_asked_for(gate_, request_);
    layouts_ = std::move(layouts.fitting);
    found_.misfits = std::move(layouts.misfits);
    run_one_device();
    run();
    name_smallest(found_.layouts);
    explain();
    if (request_.keeps) keep_results(*request_.keeps);
    return std::move(found_);
  }

 private:
  void run_one_device() {
    GateRunner runner(gate_, options_);
    GateSameAs single{.layout = {}, .parallel = {}, .word = "single_device"};
    single.parallel.checkpoint_blocks = gate_.parallel.checkpoint_blocks;
    one_ = runner.run_as(single);
    if (!one_.outcome.ok())
      throw BadGate(gate_.file + ":1:1",
                    "expected a model that runs on one device, got " + ending_of(one_.outcome));
    found_.losses = one_.ranks[0].losses;
    found_.tensors = record().size();
  }

  const RunRecord& record() const { return *one_.ranks[0].record; }

  // JobDone has no result if no job was left.
  struct JobDone {
    std::uint64_t job = 0;
    std::optional<LayoutResult> result = {};
  };

  void run() {
    std::uint64_t all = layouts_.size(), failed = 0;
    std::uint64_t count = request_.next_job ? all : request_.shard.jobs_of(all);
    auto goes_on = [&] {
      found_.interrupted =
          request_.goes_on && !request_.goes_on({"layouts", jobs_.size(), count, failed});
      return !found_.interrupted;
    };
    auto run_job = [&](std::uint64_t i) {
      std::uint64_t job = request_.next_job ? request_.next_job(all) : request_.shard.job(i);
      return job < all ? JobDone{job, result_of(layouts_[job])} : JobDone();
    };
    run_ordered<JobDone>(
        {.count = count, .threads = request_.jobs, .goes_on = goes_on}, [&] { return run_job; },
        [&](std::uint64_t, JobDone one) {
          if (!one.result) return false;
          failed += one.result->passed() ? 0 : 1;
          jobs_.push_back(one.job);
          found_.layouts.push_back(std::move(*one.result));
          return true;
        });
  }

  LayoutResult result_of(const ComposeLayout& layout) const {
    LayoutResult result{.name = layout.name,
                        .forms = layout.forms,
                        .ranks = layout.ranks(),
                        .mesh = mesh_text(layout.run.layout),
                        .entry = same_as_entry(layout.run)};
    GateFile gate = gate_.run_as(layout.run);
    GateRunner runner(gate, options_);
    GateRun run = runner.run({.schedule = runner.schedule_at(0),
                              .expected = {&record()},
                              .gradient_factor = factor_of(layout, request_)});
    result.peak_bytes = run.outcome.peak_bytes;
    if (!run.outcome.ok()) {
      result.failure = ending_of(run.outcome);
      return result;
    }
    if (run.outcome.live_storages > 0)
      result.failure = fmt::format("{} live tensors at the end", run.outcome.live_storages);
    result.tensors = record().size();
    for (const RankFindings& found : run.ranks)
      if (found.differences[0]) {
        result.difference = found.differences[0];
        result.rank = std::int64_t(found.rank);
        break;
      }
    return result;
  }

  // Looks for the first op or gradient that differs in each layout that no smaller one explains.
  void explain() {
    if (found_.interrupted) return;
    for (std::size_t i = 0; i < found_.layouts.size(); ++i) {
      LayoutResult& result = found_.layouts[i];
      if (!result.difference || result.smallest != result.name) continue;
      const ComposeLayout& layout = layouts_[jobs_[i]];
      result.first = first_cause({.gate = gate_,
                                  .options = options_,
                                  .layout = layout,
                                  .gradient_factor = factor_of(layout, request_),
                                  .rank = result.rank,
                                  .one_device = record()});
    }
  }

  void keep_results(ShardResults& keeps) const {
    keeps.jobs = layouts_.size();
    keeps.about = about_layouts(found_);
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      keeps.results.emplace(jobs_[i], to_json(found_.layouts[i]));
  }

  std::string faults_text() const {
    std::string text;
    for (const InjectedFault& fault : request_.faults)
      text += fmt::format(" --inject {}={}", join_text(fault.forms, "+"), fault.factor);
    return text;
  }

  const GateFile& gate_;
  const GateRunOptions& options_;
  const ComposeRequest& request_;
  GateRun one_;
  std::vector<ComposeLayout> layouts_;
  std::vector<std::uint64_t> jobs_;  // of the results
  Composition found_;
};

}  // namespace

InjectedFault parse_injected_fault(const std::string& text) {
  std::size_t equals = text.rfind('=');
  InjectedFault fault{.factor = 0};
  std::string forms = text.substr(0, equals);
  for (std::size_t start = 0; start <= forms.size();) {
    std::size_t end = std::min(forms.find('+', start), forms.size());
    fault.forms.push_back(forms.substr(start, end - start));
    start = end + 1;
  }
  if (equals != std::string::npos) {
    const char* number = text.c_str() + equals + 1;
    char* rest = nullptr;
    fault.factor = std::strtod(number, &rest);
    if (rest == number || *rest != 0) fault.factor = 0;
  }
  if (!(fault.factor > 0) || !(fault.factor < 1e30))
    raise(ErrorKind::value_error, compose_source,
          "expected forms and a factor above 0, such as expert+tensor=2, got '{}'", text);
  expect_forms(fault.forms);
  return fault;
}

void check_forms(const ComposeRequest& request) {
  expect_forms(request.only);
  expect_forms(request.without);
}

GateFile compose_model_from_text(std::string_view text, const std::string& file) {
  toml::table table = parse_toml(text, file);
  for (const char* key : {"mesh", "expect", "faults", "checkpoint", "device"}) table.erase(key);
  if (toml::table* parallel = table.get_as<toml::table>("parallel"))
    for (const std::string& key : GateTable(*parallel, file).keys())
      if (key != "activation_checkpointing") parallel->erase(key);
  if (!table.contains("arithmetic")) table.insert("arithmetic", toml::table{{"mode", "exact"}});
  GateFile gate = gate_from_table(table, file);
  if (gate.world.shapes_only)
    throw BadGate(file + ":1:1",
                  "key 'world.shapes_only': expected false, since results are compared");
  return gate;
}

GateFile read_compose_model(const std::string& path) {
  return compose_model_from_text(read_file({.where = compose_source,
                                            .what = "a model file",
                                            .path = path,
                                            .bytes_max = gate_bytes_max}),
                                 path);
}

ComposeLayouts layouts_asked_for(const GateFile& gate, const ComposeRequest& request) {
  RanksRange ranks = request.ranks;
  if (!request.layout.empty()) ranks.min = ranks.max = ranks_of_name(request.layout);
  ComposeLayouts layouts = enumerate_layouts(gate, ranks);
  auto is_other = [&](const ComposeLayout& one) { return !is_asked_for(one, request); };
  std::erase_if(layouts.fitting, is_other);
  layouts.fitting = spread_evenly(std::move(layouts.fitting), request.sample);
  if (!request.layout.empty())
    std::erase_if(layouts.misfits,
                  [&](const Misfit& misfit) { return misfit.name != request.layout; });
  if (layouts.fitting.empty())
    raise(ErrorKind::value_error, compose_source,
          "expected layouts that fit the model and what is asked for, got none{}",
          layouts.misfits.empty()
              ? ""
              : fmt::format("; {}: {}", layouts.misfits[0].name, layouts.misfits[0].reason));
  return layouts;
}

Composition compose(const GateFile& gate, const GateRunOptions& options,
                    const ComposeRequest& request) {
  return Composer(gate, options, request).all();
}

}  // namespace simmesh
