#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/schedules/schedule.h"
#include "core/engine/search/order_policy.h"
#include "core/engine/search/search_part.h"

namespace simmesh::python {

// OrderSearch is the search of `explore` (core/engine/explore.h) for runs that somebody else makes,
// one after the other: it says under which schedule the next run is made, and is told how it ended.
// Each class of equivalent schedules is run once, depth first. The calls need the GIL.
//
//   OrderSearch search;
//   while (!search.is_done()) search.end_run(run_under(search.begin_run()));
class OrderSearch {
 public:
  OrderSearch() { start(); }

  // is_done is true once all classes were run.
  bool is_done() const { return part_.empty(); }

  // begin_run returns the schedule of the next run. Raises a RuntimeError once there is none. It
  // may be called again for a run that has not come to its end.
  Schedule begin_run();

  // end_run takes the outcome of that run. Raises a RuntimeError if ranks waited for one another in
  // a way that no schedule knows of. An interrupted run is still to be made.
  void end_run(const Outcome& outcome);

  // classes returns the number of runs that count, given_up that of the others: a run that shows
  // that more matters than was known makes the search start again. estimate says how many classes
  // there are; exact once the search is done.
  std::uint64_t classes() const { return findings_.classes; }
  std::uint64_t given_up() const { return given_up_; }
  double estimate() const;

  // data_hash returns that of the first class, which all others must have, and one_data_hash
  // whether they do.
  std::uint64_t data_hash() const { return data_hash_; }
  bool one_data_hash() const { return findings_.one_data_hash; }

  // has_failure is true if a class failed or has another data hash; is_failure if the last run is
  // the one to report: its class is reached by the shortest order of events.
  bool has_failure() const { return findings_.failed.has_value(); }
  bool is_failure() const { return is_failure_; }

  // depends_on_order is false if nothing in the first class depends on the order.
  bool depends_on_order() const { return depends_on_order_; }
  // splits_steps is true if each access of a rank is a step of its own.
  bool splits_steps() const { return known_.splits_steps; }

 private:
  void start();

  KnownOrders known_;
  SearchPart part_{{}};
  SearchFindings findings_;
  std::uint64_t given_up_ = 0;
  bool has_first_ = false;
  std::uint64_t data_hash_ = 0;
  bool depends_on_order_ = true;
  bool is_failure_ = false;
  // Notes are shared with the schedule, which a run that is given up uses on.
  struct OrderedNotes {
    OrderedNotes(EventOrder order, KnownOrders known_before)
        : known(std::move(known_before)), notes(std::move(order), known) {}
    const KnownOrders known;
    OrderPolicy::Notes notes;
  };
  std::shared_ptr<OrderedNotes> run_;
};

}  // namespace simmesh::python
