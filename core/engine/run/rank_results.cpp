#include "core/engine/run/rank_results.h"

#include <algorithm>
#include <vector>

#include "core/check/write_file.h"
#include "core/clock/clock.h"
#include "core/engine/reports/run_observer.h"
#include "core/engine/reports/run_trace.h"
#include "core/engine/spread/world_spread.h"

namespace simmesh {

namespace {

// Returns the first figure that differs between ranks that stand for one kind of ranks.
std::string fold_difference(const std::vector<RankFigures>& figures, const WorldOptions& options) {
  if (options.folded_alike.empty()) return difference(figures.front(), figures.back());
  auto of = [&](RankId rank) -> const RankFigures& {
    return *std::find_if(figures.begin(), figures.end(),
                         [rank](const RankFigures& one) { return one.rank == rank; });
  };
  for (const auto& [a, b] : options.folded_alike)
    if (std::string text = difference(of(a), of(b)); !text.empty()) return text;
  return "";
}

void add_figures(Outcome& outcome, const WorldOptions& options, gsl::span<Seat> seats) {
  outcome.shapes_only = true;
  for (Seat& seat : seats.first(options.ranks)) {
    if (!runs(options, seat.rank.id())) continue;
    outcome.figures.push_back(RankFigures::of(seat.rank));
  }
  if (options.fold) outcome.fold_difference = fold_difference(outcome.figures, options);
}

// Devices are those of the ranks that have one.
struct Devices {
  std::vector<const Clock*> clocks;
  std::vector<RankId> ranks;

  explicit Devices(gsl::span<Seat> seats) {
    for (Seat& seat : seats) {
      const Clock* clock = seat.rank.clock();
      if (!clock) continue;
      clocks.push_back(clock);
      ranks.push_back(seat.rank.id());
    }
  }
};

// The times of a failed run would cover only a part of it.
std::vector<DeviceReport> device_reports(gsl::span<Seat> seats, bool has_failed) {
  Devices devices(seats);
  std::vector<const Timeline*> logs;
  logs.reserve(devices.clocks.size());
  for (const Clock* clock : devices.clocks) logs.push_back(&clock->timeline());
  std::vector<DeviceReport> reports(logs.size());
  if (!has_failed) reports = resolve_times(logs);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].memory = devices.clocks[i]->memory();
  return reports;
}

}  // namespace

void add_rank_results(Outcome& outcome, const WorldOptions& options, gsl::span<Seat> seats,
                      const RankThreads& threads) {
  FoldHash data;
  for (Seat& seat : seats) {
    RankId id = seat.rank.id();
    if (!RankThreads::is_thread(options, id)) data.fold(seat.rank.data_hash());
    if (id < options.ranks && threads.results(id) != 0) data.fold(threads.results(id));
    const Ledger& ledger = seat.rank.ledger();
    if (id < options.ranks) outcome.peak_bytes = std::max(outcome.peak_bytes, ledger.total().peak);
    outcome.copies_on_write += ledger.copies_on_write();
  }
  outcome.data_hash = data.value();
  outcome.ranks = options.ranks;
  if (options.shapes_only) add_figures(outcome, options, seats);
  if (options.device) outcome.devices = device_reports(seats, outcome.failure.has_value());
}

void write_trace_file(const TracedRun& run) {
  const RunObserver* observer = RunObserver::active();
  if (run.options.trace_file.empty() && !observer) return;
  Devices devices(run.seats);
  RunRecords records = {run.options, run.outcome, run.trace, devices.clocks, devices.ranks};
  if (observer) observer->see(records);
  if (!run.options.trace_file.empty() && WorldSpread::writes_files())
    write_file(run.options.trace_file, run_trace(records), "the trace");
}

}  // namespace simmesh
