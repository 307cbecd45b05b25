#include "pipeline/analysis/peaks.h"

#include <algorithm>

namespace simmesh::pipeline {

namespace {

// HeldCount counts what is held now, and its peak.
struct HeldCount {
  std::int64_t now = 0, peak = 0;

  void add(std::int64_t change) {
    now += change;
    peak = std::max(peak, now);
  }
};

}  // namespace

Peaks activation_peaks(const Rows& rows, std::int64_t stages) {
  std::vector<HeldCount> by_stage(static_cast<std::size_t>(stages));
  Peaks peaks;
  for (const Row& row : rows) {
    HeldCount of_rank;
    for (const Action& action : row) {
      for (const Action& leaf : action.leaves()) {
        bool begins = leaf.kind == ActionKind::forward;
        bool ends =
            leaf.kind == ActionKind::full_backward || leaf.kind == ActionKind::backward_weight;
        if (!begins && !ends) continue;
        std::int64_t change = begins ? 1 : -1;
        of_rank.add(change);
        if (leaf.stage >= 0 && leaf.stage < stages) by_stage[std::size_t(leaf.stage)].add(change);
      }
    }
    peaks.by_rank.push_back(of_rank.peak);
  }
  for (const HeldCount& held : by_stage) peaks.by_stage.push_back(held.peak);
  return peaks;
}

}  // namespace simmesh::pipeline
