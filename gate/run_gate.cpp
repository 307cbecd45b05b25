#include "gate/run_gate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check/shell_word.h"

namespace simmesh {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

// Says in one line how a run ended.
std::string ending_of(const Outcome& outcome) {
  if (outcome.ok()) return fmt::format("data hash {}", hash_text(outcome.data_hash));
  const Failure& failure = *outcome.failure;
  std::string text =
      failure.rank == no_rank ? "" : fmt::format("the failure of rank {}: ", failure.rank);
  return text + first_line(failure.message);
}

// Returns the report without its last line, because the gate prints its own reproduce line.
std::string report_of(const Outcome& outcome) {
  std::string text = report(outcome);
  return text.substr(0, text.rfind("\nreproduce: "));
}

std::string reproduce_line(const GateFile& gate, const GateRunOptions& options) {
  return "simmesh run " + shell_word(gate.file) + flags(options);
}

// Checks makes the checks of one gate, one method each.
class Checks {
 public:
  Checks(const GateFile& gate, const GateRunOptions& options, const TraceFolders& folders)
      : gate_(gate), options_(options), folders_(folders), runner_(gate, options) {}

  GateResult all() {
    result_.file = gate_.file;
    result_.title = gate_.title;
    if (gate_.model.is_given_by_nodes()) check_nodes();
    GateRunner::Request request{.schedule = runner_.schedule_at(0),
                                .observes = true,
                                .is_traced = true,
                                .trace_folders = folders_};
    for (const GateSameAs& other : gate_.expect.same_as) {
      others_.push_back({&other, runner_.run_as(other), request.expected.size()});
      if (others_.back().run.outcome.ok())
        request.expected.push_back(&*others_.back().run.ranks[0].record);
    }
    request.keep_record = gate_.checkpoint.has_value();
    base_ = runner_.run(request);
    take_figures();
    check_run();
    if (base_.outcome.ok() && gate_.world.fold) check_fold();
    if (base_.outcome.ok()) {
      for (const Other& other : others_) check_same_as(other);
      if (gate_.checkpoint) check_resume();
      if (gate_.expect.schedules > 1) check_schedules();
      check_collectives();
      check_events();
      check_gathers();
      if (gate_.device) check_device();
      check_peak();
      check_loss();
      check_hash();
      for (const GateFault& fault : gate_.faults) check_fault(runner_.resolved(fault, base_));
      check_leak();
    }
    if (result_.failed() > 0) result_.reproduce = reproduce_line(gate_, options_);
    return std::move(result_);
  }

 private:
  void add(std::string name, bool passed, std::string expected, std::string actual) {
    result_.checks.push_back({std::move(name), passed, std::move(expected), std::move(actual)});
  }

  // Other is another run that must give the same bits, with the index of its record.
  struct Other {
    const GateSameAs* same_as;
    GateRun run;
    std::size_t record;
  };

  // If nodes don't run on one device, the file is wrong.
  void check_nodes() {
    GateRun single = runner_.run_as({.layout = {}, .parallel = {}, .word = "single_device"});
    if (single.outcome.ok()) return;
    throw BadGate(gate_.file + ":1:1",
                  "key 'model.nodes': expected nodes that run on one device, got " +
                      ending_of(single.outcome));
  }

  void take_figures() {
    result_.data_hash = base_.outcome.data_hash;
    result_.schedule_hash = base_.outcome.schedule_hash;
    result_.peak_bytes = base_.outcome.peak_bytes;
    if (gate_.world.shapes_only)
      result_.shapes_of_ranks = std::int64_t(base_.ranks.size());
    else if (options_.threads == 1)
      result_.physical_peak_bytes = base_.outcome.physical_peak_bytes;
    result_.losses = base_.ranks[0].losses;
    for (std::size_t op = 0; op < collective_op_count; ++op)
      if (base_.ranks[0].calls[op] > 0)
        result_.collectives[name_of(CollectiveOp(op))] = base_.ranks[0].calls[op];
    result_.zero_memory = base_.ranks[0].memory;
    if (const auto& schedule = base_.ranks[0].schedule; schedule && !schedule->is_empty())
      result_.zero_schedule = schedule->svg();
    if (gate_.parallel.fsdp)
      result_.gathers = std::max_element(base_.ranks.begin(), base_.ranks.end(),
                                         [](const RankFindings& a, const RankFindings& b) {
                                           return a.gathers.unused() < b.gathers.unused();
                                         })
                            ->gathers;
  }

  void check_run() {
    const Outcome& outcome = base_.outcome;
    std::string ranks =
        fmt::format("{} {} to return", gate_.ranks(), gate_.ranks() == 1 ? "rank" : "ranks");
    std::string returned = std::to_string(gate_.ranks());
    if (gate_.world.fold) returned = fmt::format("{} that stand for all", base_.ranks.size());
    add("run", outcome.ok(), ranks, outcome.ok() ? returned : ending_of(outcome));
    if (!outcome.ok()) result_.failure = report_of(outcome);
  }

  void check_fold() {
    const std::string& difference = base_.outcome.fold_difference;
    add("fold", difference.empty(), "the same figures of the first and the last rank",
        difference.empty() ? "the same" : difference);
  }

  void check_same_as(const Other& other) {
    std::string name = other.same_as->name();
    const std::string& word = other.same_as->word;
    std::string what = word == "single_device" ? "one device" : "the other run";
    if (!other.run.outcome.ok())
      return add(name, false, "a run " + (word == "single_device" ? "on " + what : "that ends"),
                 ending_of(other.run.outcome));
    for (std::size_t rank = 0; rank < base_.ranks.size(); ++rank)
      if (const auto& difference = base_.ranks[rank].differences[other.record])
        return add(name, false, difference->expected,
                   fmt::format("{} on rank {}: {}{}", difference->actual, base_.ranks[rank].rank,
                               difference->where, reason_of(*difference)));
    add(name, true, "the bits of " + what,
        fmt::format("the same in {} tensors on each rank", other.run.ranks[0].record->size()));
  }

  void check_resume() {
    RunRecord expected = from_step(*base_.ranks[0].record, gate_.checkpoint->save_at);
    GateRun run = runner_.resumed(*gate_.checkpoint, expected);
    std::string name = gate_.checkpoint->name();
    if (!run.outcome.ok()) {
      result_.failure = report_of(run.outcome);
      return add(name, false, "a run that goes on", ending_of(run.outcome));
    }
    for (const RankFindings& found : run.ranks)
      if (const auto& difference = found.differences[0])
        return add(
            name, false, difference->expected,
            fmt::format("{} on rank {}: {}", difference->actual, found.rank, difference->where));
    add(name, true, "the bits of the run that never stopped",
        fmt::format("the same in {} tensors on each rank", expected.size()));
  }

  // Says why an unused parameter differs; empty for any other difference.
  std::string reason_of(const Difference& difference) const {
    if (!difference.is_extra_zeros || !gate_.parallel.fsdp ||
        !gate_.parallel.fsdp->settings.reduces_unused_params)
      return "";
    return "; no rank used this parameter in the step, so one device has no gradient for it and "
           "its optimiser leaves it unchanged, but reduce_scatter_unused_params reduces zeros, to "
           "which the optimiser applies weight decay and momentum";
  }

  void check_schedules() {
    for (std::int64_t i = 1; i < gate_.expect.schedules; ++i) {
      Schedule schedule = runner_.schedule_at(std::uint64_t(i));
      GateRun run = runner_.run({.schedule = schedule});
      if (run.outcome.ok() && run.outcome.data_hash == base_.outcome.data_hash) continue;
      if (!run.outcome.ok()) result_.failure = report_of(run.outcome);
      return add("schedules", false, fmt::format("data hash {}", hash_text(result_.data_hash)),
                 fmt::format("{} under schedule {}", ending_of(run.outcome), schedule.name()));
    }
    add("schedules", true, fmt::format("one data hash under {} schedules", gate_.expect.schedules),
        "one");
  }

  void check_collectives() {
    for (const auto& [name, expected] : gate_.expect.collectives) {
      std::size_t op = 0;
      while (name != name_of(CollectiveOp(op))) ++op;
      std::size_t rank = 0;
      while (rank + 1 < base_.ranks.size() && base_.ranks[rank].calls[op] == expected) ++rank;
      std::int64_t actual = base_.ranks[rank].calls[op];
      add("collectives " + name, actual == expected, fmt::format("{} on each rank", expected),
          actual == expected ? std::to_string(actual)
                             : fmt::format("{} on rank {}", actual, base_.ranks[rank].rank));
    }
  }

  void check_events() {
    const GateEvents& asked = gate_.expect.events;
    if (asked.list.empty()) return;
    const std::vector<std::string>& actual =
        base_.ranks[std::min(std::size_t(asked.rank), base_.ranks.size() - 1)].events;
    std::string name = fmt::format("events of rank {} in step {}", asked.rank, asked.step);
    if (actual == asked.list)
      return add(name, true, fmt::format("{} events", actual.size()), "the same");
    std::size_t i = 0;
    while (i < actual.size() && i < asked.list.size() && actual[i] == asked.list[i]) ++i;
    auto at = [i](const std::vector<std::string>& list) {
      return i < list.size() ? list[i] : std::string("no further event");
    };
    add(name, false, fmt::format("{} as event {}", at(asked.list), i), at(actual));
    result_.failure = fmt::format("all {}:\n  {}", name, fmt::join(actual, "\n  "));
  }

  void check_gathers() {
    if (gate_.expect.unused_gathers < 0) return;
    for (const RankFindings& found : base_.ranks) {
      std::int64_t actual = found.gathers.unused();
      if (actual == gate_.expect.unused_gathers) continue;
      return add("unused_gathers", false,
                 fmt::format("{} on each rank", gate_.expect.unused_gathers),
                 fmt::format("{} on rank {}", actual, found.rank));
    }
    add("unused_gathers", true, fmt::format("{} on each rank", gate_.expect.unused_gathers),
        std::to_string(gate_.expect.unused_gathers));
  }

  // This is a run of its own, so that reporting doesn't cost the devices time or memory.
  void check_device() {
    GateRun run = runner_.run({.schedule = runner_.schedule_at(0),
                               .on_devices = true,
                               .is_traced = true,
                               .trace_folders = folders_});
    if (!run.outcome.ok()) result_.failure = report_of(run.outcome);
    DeviceFigures figures;
    bool is_complete = run.outcome.ok();
    for (const DeviceReport& report : run.outcome.devices) {
      is_complete &= report.is_complete;
      figures.makespan_us = std::max(figures.makespan_us, report.makespan_us);
      figures.exposed_communication_us =
          std::max(figures.exposed_communication_us, report.exposed_communication_us);
      figures.reserved_bytes = std::max(figures.reserved_bytes, report.memory.reserved.peak);
    }
    add("device", is_complete, "all operations to end and no races between streams",
        run.outcome.ok() ? is_complete ? "both" : "operations that wait for one another"
                         : ending_of(run.outcome));
    if (!is_complete) return;
    result_.device = figures;
    if (double most = gate_.expect.exposed_us_max; most > 0)
      add("exposed_us_max", figures.exposed_communication_us <= most,
          fmt::format("at most {} us", most),
          fmt::format("{:.1f} us", figures.exposed_communication_us));
  }

  void check_peak() {
    std::int64_t most = gate_.expect.peak_bytes_max;
    if (most > 0)
      add("peak_bytes_max", result_.peak_bytes <= most, fmt::format("at most {} bytes", most),
          fmt::format("{}", result_.peak_bytes));
  }

  void check_loss() {
    const GateExpect& expect = gate_.expect;
    for (std::size_t step = 0; step < expect.loss.size(); ++step) {
      double expected = expect.loss[step], actual = result_.losses[step];
      bool holds = actual == expected ||
                   std::abs(actual - expected) <= expect.loss_rtol * std::abs(expected);
      add(fmt::format("loss of step {}", step), holds,
          fmt::format("{} within {}", expected, expect.loss_rtol), fmt::format("{}", actual));
    }
  }

  void check_hash() {
    if (!gate_.expect.hash.empty())
      add("hash", hash_text(result_.data_hash) == gate_.expect.hash, gate_.expect.hash,
          hash_text(result_.data_hash));
  }

  void check_fault(const GateFault& fault) {
    std::int64_t schedules = std::min<std::int64_t>(gate_.expect.schedules, 4);
    std::string actual;
    for (std::int64_t i = 0; i < schedules; ++i) {
      GateRun run = runner_.run(
          {.schedule = runner_.schedule_at(std::uint64_t(i)), .faults = {engine_fault(fault)}});
      actual = ending_of(run.outcome);
      if (is_reported(fault, run.outcome)) continue;
      if (!run.outcome.ok()) result_.failure = report_of(run.outcome);
      return add(describe(fault), false, expected_of(fault), actual);
    }
    add(describe(fault), true, expected_of(fault), actual);
  }

  std::string expected_of(const GateFault& fault) const {
    switch (fault.kind) {
      case Fault::Kind::kill:
      case Fault::Kind::fail_allocation:
        return fmt::format("the injected failure of rank {}", fault.rank);
      case Fault::Kind::abandon: return "a deadlock";
      case Fault::Kind::call_another: return "a mismatch";
      case Fault::Kind::flip_bit: return "another data hash";
      case Fault::Kind::starve: break;
    }
    return fmt::format("data hash {}", hash_text(result_.data_hash));
  }

  bool is_reported(const GateFault& fault, const Outcome& outcome) const {
    if (fault.kind == Fault::Kind::starve)
      return outcome.ok() && outcome.data_hash == result_.data_hash;
    if (outcome.ok())
      return fault.kind == Fault::Kind::flip_bit && outcome.data_hash != result_.data_hash;
    const Failure& failure = *outcome.failure;
    if (fault.kind == Fault::Kind::abandon) return failure.kind == Failure::Kind::deadlock;
    if (failure.kind != Failure::Kind::error) return false;
    bool is_own = fault.kind == Fault::Kind::kill || fault.kind == Fault::Kind::fail_allocation;
    return !is_own ||
           (failure.rank == fault.rank && failure.message.find("injected") != std::string::npos);
  }

  void check_leak() {
    std::int64_t live = base_.outcome.live_storages;
    add("leak", live == 0, "0 live tensors at the end", std::to_string(live));
  }

  const GateFile& gate_;
  GateRunOptions options_;
  TraceFolders folders_;
  GateRunner runner_;
  std::deque<Other> others_;  // a deque, because others point to the records
  GateRun base_;
  GateResult result_;
};

}  // namespace

std::int64_t GateResult::passed() const {
  return std::count_if(checks.begin(), checks.end(),
                       [](const GateCheck& check) { return check.passed; });
}

void expect_checks(const GateFile& gate) {
  const GateExpect& expect = gate.expect;
  bool checks = !expect.same_as.empty() || expect.schedules > 1 || !expect.collectives.empty() ||
                expect.peak_bytes_max > 0 || !expect.loss.empty() || !expect.hash.empty() ||
                !expect.events.list.empty() || expect.unused_gathers >= 0 ||
                expect.exposed_us_max > 0 || !gate.faults.empty() || gate.device || gate.checkpoint;
  if (!checks)
    throw BadGate(gate.file + ":1:1",
                  "expected a gate that checks something: a key of [expect], a fault in [faults] "
                  "or a table [device] or [checkpoint], got none of them");
}

GateResult run_gate(const GateFile& gate, const GateRunOptions& options,
                    const TraceFolders& folders) {
  return Checks(gate, options, folders).all();
}

}  // namespace simmesh
