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
#include "collectives/results/result_part.h"
#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/reports/activity.h"
#include "core/tensor/chunk.h"
#include "mesh/membership.h"

namespace simmesh {

using ResultParts = boost::container::small_vector<ResultPart, 1>;

// SharedResults are the results that are the same for all members of an exchange.
struct SharedResults : boost::intrusive_ref_counter<SharedResults> {
  ResultParts parts;
};

class HostMemory;

// Arrival is one member's place in an exchange: its call, and its results. It lives on the stack of
// a rank that blocks, or in a Work.
struct Arrival {
  const CollectiveCall* call = nullptr;
  Rank* rank = nullptr;
  std::uint64_t sequence = 0;
  bool is_complete = false;
  bool is_blocked = false;  // the rank sleeps until it is complete
  // The host's memory from which operands are read and to which results are written, null for the
  // rank's own tensors; and the tensors into which the operands are read.
  const HostMemory* host = nullptr;
  gsl::span<Tensor> loaded = {};
  // The names of what the call carries (see CallContents); empty where nobody told.
  std::string_view contents = {};
  // Once complete: the parts that all members share, if there are any, or else this member's own.
  boost::intrusive_ptr<SharedResults> shared;
  ResultParts results;

  const ResultParts& parts() const { return shared ? shared->parts : results; }
  // drop_parts gives up the parts, once the rank has made its tensors.
  void drop_parts() {
    shared.reset();
    results.clear();
  }
};

// Exchange is one collective of a group from its first arrival to its completion. It holds what a
// Transport needs: all members' calls, in group order, and places for their results.
//
// In a folded world only the members that are run arrive. The others count as if they had made the
// call of the first of them.
class Exchange final : public Waitable {
 public:
  // Exchanges are those of the group that are under way, the oldest first; null if this is the only
  // one.
  using Exchanges = std::vector<std::unique_ptr<Exchange>>;
  explicit Exchange(const Membership& group, const Exchanges* under_way = nullptr)
      : group_(group), under_way_(under_way) {}
  // The group must outlive the exchange.
  explicit Exchange(Membership&& group, const Exchanges* under_way = nullptr) = delete;

  // start makes the exchange ready for a new collective.
  void start(std::uint64_t sequence);

  // arrive adds a member. Raises a RuntimeError that names both sides if its call doesn't agree
  // with the first one's.
  void arrive(std::size_t member, Arrival& arrival);

  // keep holds an arrival, and its owner, until the exchange finishes.
  void keep(std::shared_ptr<Arrival> arrival) { kept_.push_back(std::move(arrival)); }
  // finish lets go of them. What a rank doesn't wait for at this moment it may have dropped, so
  // that its last owner is left to the rank.
  void finish(Run& run);

  // load_host and store_host copy the members' operands from memory of the host, and their results
  // to it.
  void load_host();
  void store_host();

  bool all_arrived() const { return arrived_ == expected_; }
  std::uint64_t sequence() const { return sequence_; }

  // The next members are for the transport.
  const Membership& membership() const { return group_; }
  std::size_t members() const { return arrivals_.size(); }
  // is_run is true for a member that runs. call returns its call. A member of a folded world that
  // isn't run counts as if it had made the call of the first one that is.
  bool is_run(std::size_t member) const { return arrivals_[member] != nullptr; }
  bool all_run() const { return expected_ == arrivals_.size(); }
  const CollectiveCall& call(std::size_t member) const {
    const Arrival* arrival = arrivals_[member];
    return arrival ? *arrival->call : *arrivals_[first_run_]->call;
  }
  // rows_between returns the rows of dim scatter_dim that one member of an all-to-all sends to
  // another.
  Chunk rows_between(std::size_t from, std::size_t to) const;
  Arrival& arrival(std::size_t member) { return *arrivals_[member]; }
  // operand_data returns where a member's first operand begins; null where it has none or it isn't
  // contiguous.
  const std::byte* operand_data(std::size_t member) const { return operand_data_[member]; }
  void give(std::size_t member, ResultPart part) {
    if (arrivals_[member]) arrivals_[member]->results.push_back(std::move(part));
  }
  void give_all(ResultPart part);

  // take_shared returns the results that give_all was given; null for none.
  boost::intrusive_ptr<SharedResults> take_shared() { return std::move(shared_); }

  std::string group() const override;
  std::string operand(RankId rank) const override;
  std::vector<RankId> missing_ranks() const override;
  std::string difference() const override;
  // arrivals_in_words returns who has made the call where, and who hasn't, in lines.
  std::string arrivals_in_words() const;

 private:
  void check_agreement(std::size_t earlier, std::size_t member, std::string_view difference,
                       const Arrival& arrival) const;
  void check_splits(std::size_t earlier, std::size_t member, const Arrival& arrival) const;
  void check_contents(std::size_t earlier, std::size_t member, const Arrival& arrival) const;
  void check_outputs(std::size_t earlier, std::size_t member, const Arrival& arrival) const;
  [[noreturn]] void refuse(ErrorKind kind, std::size_t earlier, std::size_t member,
                           std::string_view difference, const Arrival& arrival) const;

  const Membership& group_;
  const Exchanges* under_way_;
  std::vector<Arrival*> arrivals_;
  std::vector<const std::byte*> operand_data_;
  boost::intrusive_ptr<SharedResults> shared_;
  std::vector<std::shared_ptr<Arrival>> kept_;
  bool has_host_memory_ = false;
  bool has_splits_ = false;
  std::size_t arrived_ = 0;
  std::size_t expected_ = 0;
  std::size_t first_ = 0;      // to arrive
  std::size_t first_run_ = 0;  // in group order
  std::uint64_t sequence_ = 0;
};

}  // namespace simmesh
