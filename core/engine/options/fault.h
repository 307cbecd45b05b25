#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Fault is one thing that goes wrong in a World on purpose. Operations of a rank are counted from
// 1: every collective, send, receive and wait that it begins.
//
//   World world({.ranks = 4, .faults = {Fault::kill({.rank = 3, .operation = 2})}});
struct Fault {
  // Kind names the kind of fault.
  enum class Kind : std::uint8_t {
    kill,             // the rank dies: reported as its failure
    starve,           // the rank only runs while no other can: must change no result
    abandon,          // the rank returns instead of joining a collective: reported as a deadlock
    flip_bit,         // one bit of its operand is flipped: the data hash changes
    fail_allocation,  // its k-th allocation fails: reported as its failure
    call_another,  // it calls another collective (barrier; all_reduce instead of barrier): reported
                   // as a mismatch
  };
  // At is an operation of a rank.
  struct At {
    RankId rank = 0;
    std::uint64_t operation = 1;
  };
  // FlipBit is one bit of the operand of an operation.
  struct FlipBit {
    RankId rank = 0;
    std::uint64_t operation = 1;
    std::uint64_t bit = 0;  // of the operand's bytes, modulo their number
  };
  // FailAllocation is an allocation of a rank, counted from 1.
  struct FailAllocation {
    RankId rank = 0;
    std::uint64_t allocation = 1;
  };

  static Fault kill(At at) { return {Kind::kill, at.rank, at.operation, 0}; }
  static Fault starve(RankId rank) { return {Kind::starve, rank, 0, 0}; }
  static Fault abandon(At at) { return {Kind::abandon, at.rank, at.operation, 0}; }
  static Fault flip_bit(FlipBit at) { return {Kind::flip_bit, at.rank, at.operation, at.bit}; }
  static Fault fail_allocation(FailAllocation at) {
    return {Kind::fail_allocation, at.rank, at.allocation, 0};
  }
  static Fault call_another(At at) { return {Kind::call_another, at.rank, at.operation, 0}; }

  Kind kind;
  RankId rank;
  std::uint64_t at;
  std::uint64_t bit;
};

using FaultPlan = std::vector<Fault>;

// starving returns a policy that picks one of the starved ranks only if inner has no other.
std::unique_ptr<SchedulePolicy> starving(std::unique_ptr<SchedulePolicy> inner,
                                         std::vector<RankId> starved);

}  // namespace simmesh
