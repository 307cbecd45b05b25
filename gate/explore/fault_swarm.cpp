#include "gate/explore/fault_swarm.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "core/check/append_text.h"
#include "core/check/counted.h"
#include "core/check/error.h"
#include "core/check/hash_text.h"
#include "core/check/json_value.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/schedules/random_stream.h"
#include "gate/checked_run.h"
#include "gate/fault_ending.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

constexpr std::array all_fault_kinds = {
    Fault::Kind::kill,     Fault::Kind::starve,          Fault::Kind::abandon,
    Fault::Kind::flip_bit, Fault::Kind::fail_allocation, Fault::Kind::call_another};
// Allocations aren't counted. Those of a first step are among the first of a rank.
constexpr std::uint64_t allocations_drawn_from = 256;
constexpr std::uint64_t bits_drawn_from = 4096;

// FaultDraw draws the fault of each run.
class FaultDraw {
 public:
  FaultDraw(const GateRun& base, std::vector<Fault::Kind> kinds, std::uint64_t seed)
      : kinds_(std::move(kinds)), seed_(seed) {
    for (const RankFindings& rank : base.ranks) {
      ranks_.push_back(rank.rank);
      operations_.push_back(1);
      for (const auto& step : rank.operations)
        for (std::uint64_t begun : step) operations_.back() = std::max(operations_.back(), begun);
    }
  }

  GateFault at(std::uint64_t run) const {
    RandomStream random(RandomStream(seed_, 0xFA17).next(), run);
    GateFault fault;
    fault.kind = kinds_[std::size_t(random.below(kinds_.size()))];
    auto index = std::size_t(random.below(ranks_.size()));
    fault.rank = ranks_[index];
    bool is_allocation = fault.kind == Fault::Kind::fail_allocation;
    fault.number = 1 + random.below(is_allocation ? allocations_drawn_from : operations_[index]);
    fault.bit = random.below(bits_drawn_from);
    return fault;
  }

 private:
  std::vector<Fault::Kind> kinds_;
  std::uint64_t seed_;
  std::vector<RankId> ranks_;
  std::vector<std::uint64_t> operations_;  // of each rank
};

// True if the run ended as the fault has to end. At a moment that nobody chose a flipped bit may be
// one that the program refuses, nobody may join the call of another collective, and nobody may wait
// for a rank that leaves: then its results are missing, so that the data hash is another one.
bool is_reported_in_swarm(const GateFault& fault, const Outcome& outcome, std::uint64_t data_hash) {
  if (is_reported(fault, outcome, data_hash)) return true;
  bool changes_data = fault.kind == Fault::Kind::flip_bit || fault.kind == Fault::Kind::abandon ||
                      fault.kind == Fault::Kind::call_another;
  if (outcome.ok()) return changes_data && outcome.data_hash != data_hash;
  Failure::Kind kind = outcome.failure->kind;
  if (fault.kind == Fault::Kind::flip_bit) return kind == Failure::Kind::error;
  return fault.kind == Fault::Kind::call_another && kind == Failure::Kind::deadlock;
}

class Swarm {
 public:
  Swarm(const GateFile& gate, const GateRunOptions& options, const ExploreRequest& request,
        const std::vector<Fault::Kind>& kinds)
      : gate_(gate), options_(options), request_(request), kinds_(kinds) {
    found_.file = gate.file;
    found_.title = gate.title;
    for (Fault::Kind kind : kinds_) found_.counts.push_back({std::string(to_string(kind))});
  }

  FaultSwarm all() {
    GateRun base = GateRunner(gate_, options_).run({});
    found_.data_hash = base.outcome.data_hash;
    if (!base.outcome.ok()) {
      found_.failure = "without a fault: " + ending_of(base.outcome);
      found_.report = simmesh::report(base.outcome);
      found_.interrupted = base.outcome.was_interrupted();
      return std::move(found_);
    }
    FaultDraw draw(base, kinds_, options_.seed);
    auto total = std::uint64_t(request_.schedules);
    run_ordered<Outcome>(
        {.count = total, .threads = request_.jobs, .goes_on = [&] { return goes_on(total); }},
        [&] {
          auto runner = std::make_shared<GateRunner>(gate_, options_);
          std::shared_ptr<ReusedResults> reused = make_reused(gate_, request_);
          // A run with a fault would share bits that no other run has.
          if (reused) runner->run({.reused = reused.get()});
          return [runner, reused, &draw, first = request_.first](std::uint64_t run) {
            std::uint64_t i = first + run;
            GateFault fault = draw.at(i);
            // With known results a gradient rule allocates less.
            bool counts_allocations = fault.kind == Fault::Kind::fail_allocation;
            return runner
                ->run({.schedule = runner->schedule_at(i),
                       .faults = {engine_fault(fault)},
                       .reused = counts_allocations ? nullptr : reused.get()})
                .outcome;
          };
        },
        [&](std::uint64_t i, const Outcome& outcome) {
          return note(draw.at(request_.first + i), outcome);
        });
    return std::move(found_);
  }

 private:
  bool goes_on(std::uint64_t total) {
    if (request_.goes_on && !found_.interrupted)
      found_.interrupted = !request_.goes_on({"runs with faults", found_.runs, total, 0});
    return !found_.interrupted;
  }

  // False if the swarm ends here.
  bool note(const GateFault& fault, const Outcome& outcome) {
    ++found_.runs;
    auto kind = std::find(kinds_.begin(), kinds_.end(), fault.kind);
    FaultSwarm::Count& count = found_.counts[std::size_t(kind - kinds_.begin())];
    bool is_clean = outcome.live_storages == 0;
    if (is_clean && is_reported_in_swarm(fault, outcome, found_.data_hash)) {
      ++count.reported;
    } else if (is_clean && outcome.ok() && outcome.data_hash == found_.data_hash) {
      ++count.without_effect;
    } else {
      found_.failure = fmt::format(
          "{} under {}: expected {}, got {}", describe(fault), outcome.repro.schedule,
          is_clean ? expected_ending(fault, found_.data_hash) : "0 live tensors at the end",
          is_clean ? ending_of(outcome) : std::to_string(outcome.live_storages));
      found_.report = simmesh::report(outcome);
    }
    return found_.failure.empty();
  }

  const GateFile& gate_;
  const GateRunOptions& options_;
  const ExploreRequest& request_;
  const std::vector<Fault::Kind>& kinds_;
  FaultSwarm found_;
};

}  // namespace

std::vector<Fault::Kind> fault_kinds(std::string_view text) {
  if (text == "all") return {all_fault_kinds.begin(), all_fault_kinds.end()};
  std::vector<Fault::Kind> kinds;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    auto found = std::find_if(all_fault_kinds.begin(), all_fault_kinds.end(),
                              [=](Fault::Kind kind) { return to_string(kind) == word; });
    if (found == all_fault_kinds.end())
      raise(ErrorKind::value_error, "gate/faults",
            "expected all, or kinds of faults such as kill,starve,abandon,flip_bit,"
            "fail_allocation,call_another, got '{}'",
            word);
    if (std::find(kinds.begin(), kinds.end(), *found) == kinds.end()) kinds.push_back(*found);
  }
  if (kinds.empty())
    raise(ErrorKind::value_error, "gate/faults", "expected all, or kinds of faults, got none");
  return kinds;
}

FaultSwarm run_fault_swarm(const GateFile& gate, const GateRunOptions& options,
                           const ExploreRequest& request, const std::vector<Fault::Kind>& kinds) {
  return Swarm(gate, options, request, kinds).all();
}

std::string to_text(const FaultSwarm& found, bool quiet) {
  std::string text;
  if (!quiet) {
    append_text(text, "gate {}{}{}\n", found.file, found.title.empty() ? "" : ": ", found.title);
    for (const FaultSwarm::Count& count : found.counts)
      append_text(text, "  {}: {} reported, {} without effect\n", count.kind, count.reported,
                  count.without_effect);
    if (!found.ok()) append_text(text, "FAIL {}\n", found.failure);
    if (!found.report.empty()) append_text(text, "{}\n", found.report);
  }
  append_text(text, "{} with faults, {}, data hash {} without\n",
              counted(std::int64_t(found.runs), "run"),
              found.ok() ? "each reported or without effect" : "1 not reported",
              hash_text(found.data_hash));
  return text;
}

std::string to_json(const FaultSwarm& found) {
  JsonValue json = JsonValue::object({{"file", found.file},
                                      {"title", found.title},
                                      {"runs", found.runs},
                                      {"data_hash", hash_text(found.data_hash)}});
  for (const FaultSwarm::Count& count : found.counts)
    json.set(count.kind, JsonValue::object({{"reported", count.reported},
                                            {"without_effect", count.without_effect}}));
  if (found.interrupted) json.set("interrupted", true);
  if (!found.ok()) json.set("failure", found.failure);
  if (!found.report.empty()) json.set("report", found.report);
  return json.text_utf8() + "\n";
}

}  // namespace simmesh
