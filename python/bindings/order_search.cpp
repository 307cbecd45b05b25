#include "python/bindings/order_search.h"

#include <utility>

#include "core/check/error.h"

namespace simmesh::python {

void OrderSearch::start() {
  part_ = SearchPart({WaitingOrder{}});
  findings_ = {};
  has_first_ = false;
}

Schedule OrderSearch::begin_run() {
  if (is_done())
    raise(ErrorKind::runtime_error, "engine/explore",
          "expected a search with a class to run, got one that is done");
  run_ = std::make_shared<OrderedNotes>(part_.waiting().back().order, known_);
  return Schedule::custom("exhaustive", [run = run_](std::size_t, std::uint64_t) {
    return std::make_unique<OrderPolicy>(run->notes);
  });
}

void OrderSearch::end_run(const Outcome& outcome) {
  is_failure_ = false;
  if (outcome.failure && outcome.failure->kind == Failure::Kind::schedule)
    raise(ErrorKind::runtime_error, "engine/explore", "{}", outcome.failure->message);
  if (!std::exchange(has_first_, true)) {
    data_hash_ = outcome.data_hash;
    depends_on_order_ = !outcome.touches.empty();
  }
  const EventOrder order = run_->notes.order;
  KnownOrders learned = part_.run(
      1,
      [&](const EventOrder&) {
        return OrderedRun{.outcome = outcome,
                          .next = next_orders(run_->notes.run),
                          .learned = run_->notes.learned};
      },
      known_, data_hash_, findings_);
  if (!(learned == known_)) {
    given_up_ += findings_.classes + 1;
    known_ = std::move(learned);
    start();
    return;
  }
  is_failure_ = findings_.failed && *findings_.failed == order && !findings_.is_interrupted;
}

double OrderSearch::estimate() const {
  if (is_done()) return double(findings_.classes);
  return findings_.share_done > 0 ? double(findings_.classes) / findings_.share_done : 0;
}

}  // namespace simmesh::python
