#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "core/engine/reports/activity.h"

namespace simmesh {

// DeputyWork is one piece of work that a rank gave to a deputy.
struct DeputyWork final : Waitable {
  std::function<void()> work;  // empty once it was done or given up
  RankId owner = no_rank;
  RankId deputy = no_rank;
  std::string deputy_name;
  std::uint64_t number = 0;  // among those of the deputy, from 1 on
  std::uint64_t object = 0;  // its name in a TouchLog
  std::exception_ptr error = nullptr;
  bool is_done = false;
  bool is_lost = false;         // it can't end: another deputy of the crew has failed
  bool error_is_known = false;  // the owner has heard of the error

  // given is the number under which the giving of the work is published to a ScheduleListener.
  std::uint64_t given() const { return ~object; }
  // is_over is true if the owner has nothing to wait for any more.
  bool is_over() const { return is_done || is_lost; }

  std::string group() const override { return deputy_name; }
  std::string operand(RankId) const override { return {}; }
  std::vector<RankId> missing_ranks() const override { return {deputy}; }
};

}  // namespace simmesh
