#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "core/engine/search/next_orders.h"

namespace simmesh {

// OrderedRun is one run of a search: its outcome, with all choices; the beginnings of the runs that
// come after it; and the knowledge that it showed.
struct OrderedRun {
  Outcome outcome;
  std::vector<EventOrder> next;
  KnownOrders learned;
};

// RunOrderFunction runs a program under an order of its events.
using RunOrderFunction = std::function<OrderedRun(const EventOrder& order)>;

// WaitingOrder is a class that is still to be run. share is the part of the search that is expected
// of it and of those that come after it; all parts add up to 1.
struct WaitingOrder {
  EventOrder order;
  double share = 1;
};

// SearchFindings is what some runs of a search have shown. Those of several parts of a search add
// up, in any order.
struct SearchFindings {
  std::uint64_t classes = 0;
  double share_done = 0;
  bool one_data_hash = true;
  // The order of a class that failed: the shortest one, and the lowest of equally long orders.
  std::optional<EventOrder> failed;
  bool is_interrupted = false;

  // note counts a run. A run with another data hash than `expected` has failed.
  void note(const EventOrder& order, const Outcome& outcome, std::uint64_t expected);
  void add(const SearchFindings& other);

 private:
  void note_failure(const EventOrder& order);
};

// SearchPart is a part of a search, depth first: the orders that wait in it, the next one last.
class SearchPart {
 public:
  explicit SearchPart(std::vector<WaitingOrder> waiting) : waiting_(std::move(waiting)) {}

  // run makes at most that many runs, and those of the part that wait then are left. It ends early
  // at a run that shows more than is known, which doesn't count: it returns that knowledge.
  // Otherwise it returns what was known.
  KnownOrders run(std::uint64_t runs, const RunOrderFunction& run_order, const KnownOrders& known,
                  std::uint64_t expected_hash, SearchFindings& findings);

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  const std::vector<WaitingOrder>& waiting() const { return waiting_; }

  // split_off takes the earlier half of the waiting orders, which is the larger part of the work.
  SearchPart split_off();

 private:
  std::vector<WaitingOrder> waiting_;
};

}  // namespace simmesh
