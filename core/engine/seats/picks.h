#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/check/fold_hash.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/schedules/schedule.h"
#include "core/engine/schedules/schedule_listener.h"

namespace simmesh {

// Picks is the way of one run through its schedule. It asks the policy for the next runnable rank,
// and keeps the record: the steps, the schedule hash, the choices. The caller has the turn, except
// where a comment says otherwise.
//
//   picks.add(3);
//   RankId next = picks.next();   // 3, and step() is one more
class Picks {
 public:
  Picks(std::unique_ptr<SchedulePolicy> policy, bool keeps_choices)
      : policy_(std::move(policy)),
        listener_(dynamic_cast<ScheduleListener*>(policy_.get())),
        listens_(policy_->listens() || listener_),
        keeps_choices_(keeps_choices) {}

  // add makes a rank runnable.
  void add(RankId rank) {
    policy_->add(rank);
    ++runnable_;
  }

  // next removes one of the runnable ranks and returns it. no_rank means that none is left, that
  // the run was interrupted, or that the policy can't continue, such as for want of memory: next
  // raises nothing.
  RankId next() {
    if (is_ending_) [[unlikely]]
      return next_to_end();
    if (Interrupt::requested() || interrupt_is_asked_.load(std::memory_order_relaxed))
        [[unlikely]] {
      was_interrupted_ = true;
      return no_rank;
    }
    if (runnable_ == 0) return no_rank;
    RankId rank = choose();
    if (rank == no_rank) [[unlikely]]
      return no_rank;
    --runnable_;
    step_.store(step() + 1, std::memory_order_relaxed);
    hash_.fold(rank);
    return rank;
  }

  // foreseen returns the rank that next would return now, if the policy knows it; otherwise
  // no_rank.
  RankId foreseen() const { return policy_->foreseen(); }

  // step counts the ranks that were picked. Any thread may ask.
  std::uint64_t step() const { return step_.load(std::memory_order_relaxed); }
  // fold adds a word to the schedule hash, which hash returns.
  void fold(std::uint64_t word) { hash_.fold(word); }
  std::uint64_t hash() const { return hash_.value(); }
  // take_choices returns the ranks in the order in which they were picked, if they are kept.
  std::vector<RankId> take_choices() { return std::move(choices_); }

  // touched notes that the rank picked last uses an object; is_listened_to is true if the policy
  // wants to know.
  void touched(RankId rank, std::uint64_t object) { policy_->touched(rank, object); }
  bool is_listened_to() const { return listens_; }
  // listener returns the policy if it hears what steps depend on; null if not.
  ScheduleListener* listener() const { return listener_; }

  // interrupt makes next return no_rank from now on. Any thread may call it.
  void interrupt() { interrupt_is_asked_ = true; }
  bool was_interrupted() const { return was_interrupted_; }
  // error says why the policy can't continue; empty if it can.
  const std::string& error() const { return error_; }

  // runnable returns the number of ranks that next could return.
  std::size_t runnable() const { return runnable_; }

  // has_run_dry is true if next has nothing to return only because no rank is runnable.
  bool has_run_dry() const { return runnable_ == 0 && !was_interrupted_ && error_.empty(); }

  // begin_ending forgets the runnable ranks. Ranks that are added from now on only unwind: they go
  // first come, first served, and no record is kept. `ranks` is the number of all ranks.
  void begin_ending(std::size_t ranks);
  bool is_ending() const { return is_ending_; }

  // shortage is the exception of a policy that had no memory; null without one.
  const std::exception_ptr& shortage() const { return shortage_; }

 private:
  RankId choose() {
    try {
      RankId rank = policy_->pick();
      if (rank == no_rank) [[unlikely]]
        take_error();
      else if (keeps_choices_)
        choices_.push_back(rank);
      return rank;
    } catch (const std::bad_alloc&) {
      shortage_ = std::current_exception();
      error_.swap(no_memory_);
      return no_rank;
    }
  }

  RankId next_to_end();
  void take_error();

  std::unique_ptr<SchedulePolicy> policy_;
  ScheduleListener* listener_;  // the policy, or null
  FoldHash hash_;
  std::atomic<std::uint64_t> step_ = 0;
  std::size_t runnable_ = 0;
  std::vector<RankId> choices_;
  std::string error_;
  // The text is made before memory runs out.
  std::string no_memory_ = "expected memory to choose the next rank and note the choice, got none";
  std::exception_ptr shortage_;
  std::atomic<bool> interrupt_is_asked_ = false;
  bool was_interrupted_ = false;
  bool is_ending_ = false;
  bool listens_;
  bool keeps_choices_;
};

}  // namespace simmesh
