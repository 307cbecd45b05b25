#include "gate/compose/compose.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/check/read_file.h"
#include "core/check/shell_word.h"
#include "core/engine/ordered_jobs.h"
#include "gate/checked_run.h"
#include "gate/compose/first_cause.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

constexpr std::string_view compose_source = "gate/compose";

bool has_form(const ComposeLayout& layout, const std::string& form) {
  return std::find(layout.forms.begin(), layout.forms.end(), form) != layout.forms.end();
}

bool has_all_forms(const ComposeLayout& layout, const std::vector<std::string>& forms) {
  return std::all_of(forms.begin(), forms.end(),
                     [&](const std::string& form) { return has_form(layout, form); });
}

void expect_forms(const std::vector<std::string>& forms) {
  const std::vector<std::string>& known = layout_forms();
  for (const std::string& form : forms)
    if (std::find(known.begin(), known.end(), form) == known.end())
      raise(ErrorKind::value_error, compose_source, "expected some of {}, got '{}'",
            join_text(known, ", "), form);
}

bool is_asked_for(const ComposeLayout& layout, const ComposeRequest& request) {
  auto has = [&](const std::string& form) { return has_form(layout, form); };
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
    if (has_all_forms(layout, fault.forms)) factor *= fault.factor;
  return factor;
}

// Composer runs the layouts of one model.
class Composer {
 public:
  Composer(const GateFile& gate, const GateRunOptions& options, const ComposeRequest& request)
      : gate_(gate), options_(options), request_(request) {
    found_.file = gate.file;
    found_.title = gate.title;
  }

  Composition all() {
    ComposeLayouts layouts = layouts_asked_for(gate_, request_);
    run_one_device();
    run(layouts.fitting);
    found_.misfits = std::move(layouts.misfits);
    explain();
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

  void run(const std::vector<ComposeLayout>& layouts) {
    std::uint64_t failed = 0;
    auto goes_on = [&] {
      return !request_.goes_on ||
             request_.goes_on({"layouts", found_.layouts.size(), layouts.size(), failed});
    };
    run_ordered<LayoutResult>(
        {.count = layouts.size(), .threads = request_.jobs, .goes_on = goes_on},
        [&] { return [&](std::uint64_t i) { return result_of(layouts[i]); }; },
        [&](std::uint64_t, LayoutResult result) {
          failed += result.passed() ? 0 : 1;
          found_.layouts.push_back(std::move(result));
          return true;
        });
    found_.interrupted = found_.layouts.size() < layouts.size();
  }

  LayoutResult result_of(const ComposeLayout& layout) const {
    LayoutResult result{.layout = layout};
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

  // Names for each failing layout the smallest one with no other forms, and looks there for the
  // first op or gradient that differs. Layouts are in the order of their sizes.
  void explain() {
    for (std::size_t i = 0; i < found_.layouts.size(); ++i) {
      LayoutResult& result = found_.layouts[i];
      if (result.passed()) continue;
      result.smallest = result.layout.name;
      for (std::size_t j = 0; j < i; ++j)
        if (!found_.layouts[j].passed() &&
            has_all_forms(result.layout, found_.layouts[j].layout.forms)) {
          result.smallest = found_.layouts[j].smallest;
          break;
        }
      if (result.smallest != result.layout.name) continue;
      if (result.difference && !found_.interrupted)
        result.first = first_cause({.gate = gate_,
                                    .options = options_,
                                    .layout = result.layout,
                                    .gradient_factor = factor_of(result.layout, request_),
                                    .rank = result.rank,
                                    .one_device = record()});
      if (found_.reproduce.empty())
        found_.reproduce =
            fmt::format("simmesh compose {} --layout {}{}{}", shell_word(gate_.file),
                        shell_word(result.layout.name), faults_text(), flags(options_));
    }
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

std::int64_t Composition::passed() const {
  return std::count_if(layouts.begin(), layouts.end(),
                       [](const LayoutResult& result) { return result.passed(); });
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
