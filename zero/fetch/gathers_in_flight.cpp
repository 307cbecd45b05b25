#include "zero/fetch/gathers_in_flight.h"

#include <algorithm>
#include <utility>

namespace simmesh::zero {

void GathersInFlight::start(gsl::span<const ParamId> params) {
  if (free_.empty()) {
    free_.push_back(std::int32_t(gathers_.size()));
    gathers_.emplace_back();
  }
  std::int32_t slot = free_.back();
  free_.pop_back();
  Gather& gather = gathers_[std::size_t(slot)];
  gather.members.assign(params.begin(), params.end());
  gather.waiting = gather.members.size();
  gather.is_complete = false;
  gather.number = next_start_;
  for (ParamId id : params) {
    gather_of_[std::size_t(id)] = slot;
    started_[std::size_t(id)] = next_start_++;
  }
  count_ += std::int64_t(params.size());
}

std::vector<ParamId> GathersInFlight::by_start() const {
  std::vector<ParamId> params;
  if (count_ == 0) return params;
  for (std::size_t i = 0; i < gather_of_.size(); ++i)
    if (gather_of_[i] >= 0) params.push_back(ParamId(i));
  std::sort(params.begin(), params.end(), [this](ParamId a, ParamId b) {
    return started_[std::size_t(a)] < started_[std::size_t(b)];
  });
  return params;
}

GathersInFlight::Waited GathersInFlight::wait(ParamId param) {
  std::int32_t slot = std::exchange(gather_of_[std::size_t(param)], -1);
  --count_;
  Gather& gather = gathers_[std::size_t(slot)];
  Waited waited{.gather = gather.number, .completed = {}};
  if (!std::exchange(gather.is_complete, true)) waited.completed = gather.members;
  if (--gather.waiting == 0) free_.push_back(slot);
  return waited;
}

}  // namespace simmesh::zero
