#include "gate/records/gate_records.h"

#include <algorithm>

namespace simmesh {

namespace {

constexpr std::size_t kept_schedules_max = 200;

}  // namespace

void GateRecords::try_schedule(const std::string& name, const Outcome& first, const Outcome& other,
                               const std::string& ending) {
  ++schedules_in_all;
  if (schedules.size() == kept_schedules_max && other.ok()) return;
  TriedSchedule tried{
      .name = name, .steps = other.steps, .schedule_hash = other.schedule_hash, .ending = ending};
  auto [one, two] = std::mismatch(first.choices.begin(), first.choices.end(), other.choices.begin(),
                                  other.choices.end());
  if (one != first.choices.end() && two != other.choices.end()) {
    tried.differs_at = one - first.choices.begin();
    tried.chosen_first = *one;
    tried.chosen = *two;
  }
  schedules.push_back(std::move(tried));
}

}  // namespace simmesh
