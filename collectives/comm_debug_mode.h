#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "collectives/collective_call.h"
#include "core/engine/ranks/watch.h"

namespace simmesh {

// CommDebugMode is a scope that counts the collectives which its rank begins in it, whoever calls
// them: the program, a redistribution, FSDP. It is named after PyTorch's. Scopes may be nested, and
// each counts all that happens in it. It belongs to the rank that made it, and must end before the
// rank's body does.
//
//   CommDebugMode mode;
//   DTensor y = distribute_tensor(full, mesh, {Shard(0)}).redistribute({Replicate()});
//   mode.get_total_counts();                        // 2: a broadcast and an all-gather
//   mode.get_comm_counts().at("all_gather").bytes;  // of this rank's operands
//
// Messages between two ranks aren't counted.
class CommDebugMode {
 public:
  // Count has the number of calls, and the bytes of this rank's operands in all of them. A
  // coalesced call, and a call that is still under way, count once.
  struct Count {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Count&) const = default;
  };

  // Observer is called before each counted call begins.
  using Observer = std::function<void(const CollectiveCall& call)>;

  // Raises a RuntimeError outside World::run.
  explicit CommDebugMode(Observer observer = {});
  ~CommDebugMode();
  CommDebugMode(const CommDebugMode&) = delete;
  CommDebugMode& operator=(const CommDebugMode&) = delete;

  // end stops counting before the scope ends. The counts stay.
  void end();

  // get_comm_counts returns the count of each operation that was called, by the operation's name.
  std::map<std::string, Count> get_comm_counts() const;
  // get_total_counts returns the number of all calls.
  std::uint64_t get_total_counts() const;
  // get_reduction_counts returns the calls of each kind of reduction: "reduce_scatter avg float32".
  std::map<std::string, std::uint64_t> get_reduction_counts() const;
  // of returns the count of one operation.
  const Count& of(CollectiveOp op) const { return by_op_[std::size_t(op)]; }

  // see counts a call in all scopes of its rank; the group that the rank joins calls it.
  static void see(Rank& rank, const CollectiveCall& call) {
    if (rank.counters()[open_scopes]) [[unlikely]]
      see_in_scopes(rank, call);
  }

 private:
  // The slot of Rank::counters after those of the operations.
  static constexpr std::size_t open_scopes = collective_op_count;
  static_assert(open_scopes < Watch::open_watches);

  static void see_in_scopes(Rank& rank, const CollectiveCall& call);

  Rank* rank_;  // null once it has ended
  Observer observer_;
  std::array<Count, collective_op_count> by_op_{};
  std::map<std::tuple<CollectiveOp, ReduceOp, DType>, std::uint64_t> reductions_;
};

// to_string returns a line for each operation that was called, in alphabetical order:
// "all_gather: 2 calls, 512 bytes".
std::string to_string(const CommDebugMode& mode);

}  // namespace simmesh
