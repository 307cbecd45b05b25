#include "core/engine/search/search_part.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/engine/reports/interrupt.h"

namespace simmesh {

void SearchFindings::note(const EventOrder& order, const Outcome& outcome, std::uint64_t expected) {
  ++classes;
  bool differs = outcome.data_hash != expected;
  one_data_hash &= !differs;
  if (!outcome.ok() || differs) note_failure(order);
}

void SearchFindings::add(const SearchFindings& other) {
  classes += other.classes;
  share_done += other.share_done;
  one_data_hash &= other.one_data_hash;
  is_interrupted |= other.is_interrupted;
  if (other.failed) note_failure(*other.failed);
}

void SearchFindings::note_failure(const EventOrder& order) {
  if (failed && failed->size() < order.size()) return;
  if (failed && failed->size() == order.size() && *failed < order) return;
  failed = order;
}

KnownOrders SearchPart::run(std::uint64_t runs, const RunOrderFunction& run_order,
                            const KnownOrders& known, std::uint64_t expected_hash,
                            SearchFindings& findings) {
  for (; runs > 0 && !waiting_.empty(); --runs) {
    OrderedRun ran = run_order(waiting_.back().order);
    if (ran.outcome.was_interrupted() || Interrupt::requested()) {
      findings.is_interrupted = true;
      return known;
    }
    ran.learned.add(known);
    if (!(ran.learned == known)) return std::move(ran.learned);
    WaitingOrder done = std::move(waiting_.back());
    waiting_.pop_back();
    findings.note(done.order, ran.outcome, expected_hash);
    if (ran.next.empty()) findings.share_done += done.share;
    double share = done.share / double(std::max<std::size_t>(ran.next.size(), 1));
    for (auto order = ran.next.rbegin(); order != ran.next.rend(); ++order)
      waiting_.push_back({std::move(*order), share});
  }
  return known;
}

SearchPart SearchPart::split_off() {
  auto middle = waiting_.begin() + std::ptrdiff_t((waiting_.size() + 1) / 2);
  std::vector<WaitingOrder> earlier(std::make_move_iterator(waiting_.begin()),
                                    std::make_move_iterator(middle));
  waiting_.erase(waiting_.begin(), middle);
  return SearchPart(std::move(earlier));
}

}  // namespace simmesh
