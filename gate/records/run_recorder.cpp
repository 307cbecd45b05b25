#include "gate/records/run_recorder.h"

#include <algorithm>

#include "gate/records/run_timeline.h"

namespace simmesh {

namespace {

constexpr std::size_t recorded_ranks_max = 4096;

}  // namespace

RecordLimits RecordLimits::each(std::size_t runs) {
  if (runs <= 1) return {};
  // So bounded, the sections of one run take about 15 kB.
  return {.spans = std::max<std::size_t>(30'000 / runs, 200), .curves = 2, .shardings = 4};
}

RunRecorder::RunRecorder(std::size_t ranks, const RecordLimits& limits)
    : limits_(limits), memory_(std::min(ranks, recorded_ranks_max)), shardings_(limits.shardings) {}

RunRecorder::OfRank::Scopes::Scopes(MemorySamples& samples, Rank& rank)
    : ops([&samples, &rank](const OpSpanEvent& event) {
        if (event.has_ended) samples.add(bytes_now(rank.ledger()));
      }),
      comms([&samples, &rank](const CommEvent&) { samples.add(bytes_now(rank.ledger())); }) {}

RunRecorder::OfRank::OfRank(RunRecorder& recorder, std::size_t index, Rank& rank) {
  if (index < recorder.memory_.size()) scopes_.emplace(recorder.memory_[index], rank);
}

void RunRecorder::see(const RunRecords& run) {
  TimelineSection::About about = about_timeline(run);
  about.spans_max = limits_.spans;
  TimelineSection timeline(about);
  add_spans(run, timeline);
  if (!timeline.is_empty()) timeline_ = timeline.json();
}

JsonValue::List RunRecorder::sections() const {
  JsonValue::List sections;
  for (JsonValue section :
       {shardings_.json(), timeline_, memory_section_of(memory_, limits_.curves)})
    if (!section.is_null()) sections.push_back(std::move(section));
  return sections;
}

}  // namespace simmesh
