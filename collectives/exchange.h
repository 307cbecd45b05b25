#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective_call.h"
#include "collectives/membership.h"
#include "collectives/result_part.h"
#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/schedules/activity.h"

namespace simmesh {

using ResultParts = boost::container::small_vector<ResultPart, 1>;

// SharedResults is what all members of an exchange get alike.
struct SharedResults : boost::intrusive_ref_counter<SharedResults> {
  ResultParts parts;
};

class HostMemory;

// Arrival is one member's place in an exchange: what it asked for, and what it gets. It lives on
// the stack of a rank that blocks, or in a Work.
struct Arrival {
  const CollectiveCall* call = nullptr;
  Rank* rank = nullptr;
  std::uint64_t sequence = 0;
  bool is_complete = false;
  bool is_blocked = false;  // the rank sleeps until it is complete
  // The host's memory from which operands are read and to which results are written, null where
  // they are the rank's own tensors; and the tensors into which the operands are read.
  const HostMemory* host = nullptr;
  gsl::span<Tensor> loaded = {};
  // Once complete: the parts that all members get, where there are any, or else this member's.
  boost::intrusive_ptr<SharedResults> shared;
  ResultParts results;

  const ResultParts& parts() const { return shared ? shared->parts : results; }
  // drop_parts gives them up, once the rank has made its tensors.
  void drop_parts() {
    shared.reset();
    results.clear();
  }
};

// Exchange is one collective of a group from its first arrival to its completion. It holds what a
// Transport needs: all members' calls, in group order, and places for their results.
//
// In a folded world only the members that are run arrive. The others are taken to have called what
// the first of those did.
class Exchange final : public Waitable {
 public:
  explicit Exchange(const Membership& group) : group_(group) {}

  // start makes the exchange ready for a new collective.
  void start(std::uint64_t sequence);

  // arrive adds a member. Raises a RuntimeError that names both sides where its call doesn't go
  // with the first one's.
  void arrive(std::size_t member, Arrival& arrival);

  // keep holds an arrival, and what it lives in, until the exchange finishes.
  void keep(std::shared_ptr<Arrival> arrival) { kept_.push_back(std::move(arrival)); }
  void finish() { kept_.clear(); }

  // load_host and store_host copy the members' operands from memory of the host, and their results
  // to it.
  void load_host();
  void store_host();

  bool all_arrived() const { return arrived_ == expected_; }
  std::uint64_t sequence() const { return sequence_; }

  // For the transport.
  std::size_t members() const { return arrivals_.size(); }
  // is_run is true for a member that runs. call returns its call: in a folded world a member that
  // isn't run is taken to have called what the first one did.
  bool is_run(std::size_t member) const { return arrivals_[member] != nullptr; }
  bool all_run() const { return expected_ == arrivals_.size(); }
  const CollectiveCall& call(std::size_t member) const {
    const Arrival* arrival = arrivals_[member];
    return arrival ? *arrival->call : *arrivals_[first_run_]->call;
  }
  Arrival& arrival(std::size_t member) { return *arrivals_[member]; }
  // operand_data returns where a member's first operand begins; null where it has none or it isn't
  // contiguous.
  const std::byte* operand_data(std::size_t member) const { return operand_data_[member]; }
  void give(std::size_t member, ResultPart part) {
    if (arrivals_[member]) arrivals_[member]->results.push_back(std::move(part));
  }
  void give_all(ResultPart part);

  // take_shared returns what give_all was given; null for nothing.
  boost::intrusive_ptr<SharedResults> take_shared() { return std::move(shared_); }

  std::string group() const override;
  std::string operand(RankId rank) const override;
  std::vector<RankId> missing_ranks() const override;

 private:
  void check_agreement(std::size_t earlier, std::size_t member, std::string_view difference,
                       const Arrival& arrival) const;
  void check_splits(std::size_t earlier, std::size_t member, const Arrival& arrival) const;
  [[noreturn]] void refuse(ErrorKind kind, std::size_t earlier, std::size_t member,
                           std::string_view difference, const Arrival& arrival) const;

  const Membership& group_;
  std::vector<Arrival*> arrivals_;
  std::vector<const std::byte*> operand_data_;
  boost::intrusive_ptr<SharedResults> shared_;
  std::vector<std::shared_ptr<Arrival>> kept_;
  bool has_host_memory_ = false;
  std::size_t arrived_ = 0;
  std::size_t expected_ = 0;
  std::size_t first_ = 0;      // to arrive
  std::size_t first_run_ = 0;  // in group order
  std::uint64_t sequence_ = 0;
};

}  // namespace simmesh
