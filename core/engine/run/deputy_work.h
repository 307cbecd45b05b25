#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/schedules/activity.h"

namespace simmesh {

// DeputyWork is what a run keeps of work that a rank gave to a deputy.
struct DeputyWork final : Waitable {
  std::function<void()> work;
  RankId owner = no_rank, deputy = no_rank;
  std::string deputy_name;
  std::uint64_t number = 0;  // among those of the deputy, from 1 on
  std::uint64_t object = 0;  // see Run::touch
  std::exception_ptr error = nullptr;
  bool is_done = false;
  bool is_lost = false;         // it can't end, for another deputy of the crew has failed
  bool error_is_known = false;  // the rank has got it

  std::string group() const override { return deputy_name; }
  std::string operand(RankId) const override { return {}; }
  std::vector<RankId> missing_ranks() const override { return {deputy}; }
};

// DeputyDesk is what a deputy has to do.
struct DeputyDesk {
  std::deque<std::shared_ptr<DeputyWork>> work;  // the oldest first
  std::uint64_t works_given = 0;
  std::uint64_t working_on = 0;  // the number of its work, from 1 on
};

}  // namespace simmesh
