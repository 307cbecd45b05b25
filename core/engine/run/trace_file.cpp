#include "core/check/write_file.h"
#include "core/engine/reports/run_trace.h"
#include "core/engine/run/run.h"

namespace simmesh {

void Run::write_trace_file(const Outcome& result) {
  std::vector<const Clock*> clocks;
  std::vector<RankId> ranks;
  for (Seat& seat : seats_) {
    const Clock* clock = seat.rank.clock();
    if (!clock) continue;
    clocks.push_back(clock);
    ranks.push_back(seat.rank.id());
  }
  std::string text = run_trace({options_, result, trace_, clocks, ranks});
  write_file(options_.trace_file, text, "the trace");
}

}  // namespace simmesh
