#include "gate/explore/explore_gate.h"

#include <fmt/format.h>
#include <memory>

#include "core/check/counted.h"
#include "core/check/json_value.h"
#include "core/engine/explore.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/search/search_state.h"
#include "core/engine/shrink_schedule.h"
#include "gate/explore/schedule_plan.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

class Explorer {
 public:
  Explorer(const GateFile& gate, const GateRunOptions& options, const ExploreRequest& request)
      : gate_(gate), options_(options), request_(request), runner_(gate, options) {
    found_.file = gate.file;
    found_.title = gate.title;
  }

  GateExploration all() {
    if (request_.exhaustive)
      run_classes();
    else
      run_schedules();
    if (!options_.trace_file.empty()) write_trace();
    return std::move(found_);
  }

  std::string escape() const { return make_plan().escape_text(std::uint64_t(request_.schedules)); }

 private:
  // Returns the fault of a run in one line; empty if it has none.
  std::string fault_of(const Outcome& outcome) const {
    if (outcome.failure)
      return outcome.failure->message.substr(0, outcome.failure->message.find('\n'));
    if (outcome.data_hash != found_.data_hash)
      return fmt::format("expected data hash {:016x}, got {:016x}", found_.data_hash,
                         outcome.data_hash);
    if (outcome.live_storages != 0)
      return fmt::format("expected 0 live tensors at the end, got {}", outcome.live_storages);
    std::string hash = fmt::format("{:016x}", outcome.data_hash);
    if (!gate_.expect.hash.empty() && gate_.expect.hash != hash)
      return fmt::format("expected data hash {}, got {}", gate_.expect.hash, hash);
    return {};
  }

  bool goes_on(const RunProgress& progress) {
    if (!found_.interrupted && request_.goes_on) found_.interrupted = !request_.goes_on(progress);
    return !found_.interrupted;
  }

  // Each thread has a runner of its own, so that threads share nothing but the gate.
  std::function<Outcome(std::uint64_t)> make_worker(const SchedulePlan& plan) const {
    auto runner = std::make_shared<GateRunner>(gate_, options_);
    std::shared_ptr<ReusedResults> reused = make_reused(gate_, request_);
    return [runner, reused, &plan, first = request_.first](std::uint64_t i) {
      return runner->run({.schedule = plan.at(first + i, *runner), .reused = reused.get()}).outcome;
    };
  }

  SchedulePlan make_plan() const {
    SchedulePlan::Choice choice{request_.policy, request_.reseed_at, options_.seed,
                                std::size_t(gate_.ranks())};
    if (!SchedulePlan::needs_first_run(choice)) return {choice, {}};
    return {choice,
            runner_.run({.schedule = runner_.schedule_at(0), .record_choices = true}).outcome};
  }

  void run_schedules() {
    auto total = std::uint64_t(request_.schedules);
    const SchedulePlan plan = make_plan();
    std::optional<std::uint64_t> failing;
    found_.data_hash = request_.first_hash;
    run_ordered<Outcome>(
        {.count = total,
         .threads = request_.jobs,
         .goes_on =
             [&] {
               return goes_on({"schedules", found_.schedules, total});
             }},
        [&] { return make_worker(plan); },
        [&](std::uint64_t i, const Outcome& outcome) {
          bool is_first = request_.first + i == 0;
          if (is_first) found_.data_hash = outcome.data_hash;
          ++found_.schedules;
          found_.schedule_hashes.insert(outcome.schedule_hash);
          if (!fault_of(outcome).empty()) failing = request_.first + i;
          if (is_first && !failing && request_.takes_certificate && outcome.touches.empty()) {
            found_.certificate =
                "1 run stands for all schedules: no operation's result depends on the order";
            return false;
          }
          return !failing;
        });
    found_.distinct = found_.schedule_hashes.size();
    if (failing)
      note(runner_.run({.schedule = plan.at(*failing, runner_), .record_choices = true}).outcome);
    else if (found_.certificate.empty())
      found_.escape = plan.escape_text(found_.schedules);
  }

  // Names the gate and the options that change its runs.
  std::uint64_t program_number() const {
    FoldHash hash(request_.program);
    RunWords words = options_;
    words.trace_file.clear();
    words.timeout_seconds = 60;
    words.threads = 1;
    for (char letter : flags(words)) hash.fold(std::uint64_t(letter));
    return hash.value();
  }

  // Returns the body of a thread of its own.
  std::function<void(Rank&)> make_body() const {
    struct Own {
      GateRunner runner;
      std::vector<RankFindings> ranks;
      std::shared_ptr<ReusedResults> reused;
    };
    auto own =
        std::make_shared<Own>(Own{GateRunner(gate_, options_), {}, make_reused(gate_, request_)});
    GateRunner::Request request{.reused = own->reused.get()};
    return [own, body = own->runner.body(request, own->ranks)](Rank& rank) { body(rank); };
  }

  void run_classes() {
    GateRunner::Request request;
    auto total = std::uint64_t(request_.schedules);
    ExploreOptions limits{
        .runs_max = total,
        .goes_on =
            [&](const Exploration& so_far) {
              // The bound is what is sure until there is an estimate.
              std::uint64_t all = std::uint64_t(so_far.estimate + 1);
              bool knows = so_far.estimate > 0 && all < total;
              return goes_on({"classes of schedules", so_far.classes, knows ? all : total});
            },
        .jobs = request_.jobs,
        .file = request_.state_file,
        .program = program_number(),
        .merged = request_.merged};
    if (!request_.shard.empty()) {
      JobShard shard = JobShard::parse(request_.shard);
      limits.shard = shard.index;
      limits.shards = shard.count;
    }
    Exploration seen = explore_each(
        runner_.world_options(request), [&] { return make_body(); }, limits);
    found_.schedules = seen.classes;
    found_.distinct = seen.classes;
    found_.data_hash = seen.data_hash;
    found_.certificate = seen.certificate;
    if (seen.first_failure) {
      found_.splits_steps = seen.first_failure->repro.schedule.find("split:") != std::string::npos;
      return note(*seen.first_failure);
    }
    std::string hash = fmt::format("{:016x}", seen.data_hash);
    if (!gate_.expect.hash.empty() && gate_.expect.hash != hash)
      return note(runner_.run({.schedule = Schedule::fifo(), .record_choices = true}).outcome);
    if (!seen.complete && !found_.interrupted)
      found_.failure =
          fmt::format("expected to run all classes of schedules in {} runs, got {} classes",
                      request_.schedules, seen.classes);
  }

  void note(Outcome outcome) {
    if (outcome.was_interrupted()) return;
    constexpr std::uint64_t runs_max = 2'000;
    std::uint64_t runs = 0;
    FailingRun run = [&](const Schedule& schedule) -> std::optional<Outcome> {
      if (!goes_on({"runs that shorten the failing schedule", runs++, runs_max, 1}))
        return std::nullopt;
      Outcome again = runner_.run({.schedule = schedule, .record_choices = true}).outcome;
      if (fault_of(again).empty() || again.was_interrupted()) return std::nullopt;
      return again;
    };
    if (auto shrunk = shrink_schedule({.choices = outcome.choices, .runs_max = runs_max}, run)) {
      found_.turns = shrunk->turns.size();
      outcome = std::move(shrunk->outcome);
      found_.splits_steps = false;
    } else {
      found_.turns = outcome.choices.size();
    }
    found_.failure = fault_of(outcome);
    found_.choices = outcome.choices;
    if (outcome.ok()) return;
    // The report's last line reproduces a program; the gate prints its own.
    std::string text = report(outcome);
    found_.report = text.substr(0, text.rfind("\nreproduce: "));
  }

  void write_trace() {
    Schedule schedule = runner_.schedule_at(0);
    if (!found_.choices.empty()) schedule = Schedule::replay(found_.schedule());
    runner_.run({.schedule = schedule, .is_traced = true});
  }

  const GateFile& gate_;
  GateRunOptions options_;
  ExploreRequest request_;
  GateRunner runner_;
  GateExploration found_;
};

std::string last_line(const GateExploration& found) {
  return fmt::format("{}, {} distinct, data hash {:016x}\n",
                     counted(std::int64_t(found.schedules), "schedule"), found.distinct,
                     found.data_hash);
}

}  // namespace

std::shared_ptr<ReusedResults> make_reused(const GateFile& gate, const ExploreRequest& request) {
  constexpr std::size_t bytes_max = std::size_t(256) << 20;
  if (!request.reuses_results || gate.world.shapes_only) return nullptr;
  return std::make_shared<ReusedResults>(std::size_t(gate.ranks()), bytes_max);
}

GateExploration explore_gate(const GateFile& gate, const GateRunOptions& options,
                             const ExploreRequest& request) {
  return Explorer(gate, options, request).all();
}

std::string escape_text(const GateFile& gate, const GateRunOptions& options,
                        const ExploreRequest& request) {
  return Explorer(gate, options, request).escape();
}

std::string to_text(const GateExploration& found, const ExploreTextOptions& options) {
  if (options.quiet) return last_line(found);
  std::string text =
      fmt::format("gate {}{}{}\n", found.file, found.title.empty() ? "" : ": ", found.title);
  if (!found.certificate.empty()) text += found.certificate + "\n";
  if (!found.escape.empty()) text += found.escape + "\n";
  if (!found.ok()) text += fmt::format("FAIL {}\n", found.failure);
  if (!found.report.empty()) text += found.report + "\n";
  if (!found.choices.empty())
    text += fmt::format(
        "shortest failing schedule: {} choices, {} of which don't take the rank that waits "
        "longest\n",
        found.choices.size(), found.turns);
  if (!options.reproduce.empty()) text += fmt::format("reproduce: {}\n", options.reproduce);
  return text + last_line(found);
}

std::string to_json(const GateExploration& found, const ExploreTextOptions& options) {
  JsonValue json = JsonValue::object({{"file", found.file},
                                      {"title", found.title},
                                      {"schedules", found.schedules},
                                      {"distinct", found.distinct},
                                      {"data_hash", fmt::format("{:016x}", found.data_hash)}});
  if (found.interrupted) json.set("interrupted", true);
  if (!found.certificate.empty()) json.set("certificate", found.certificate);
  if (!found.escape.empty()) json.set("escape", found.escape);
  if (!found.ok()) json.set("failure", found.failure);
  if (!found.report.empty()) json.set("report", found.report);
  if (!found.choices.empty()) json.set("choices", found.schedule());
  if (!options.reproduce.empty()) json.set("reproduce", options.reproduce);
  return json.text_utf8() + "\n";
}

}  // namespace simmesh
