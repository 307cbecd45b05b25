#include "core/engine/options/fault.h"

#include <algorithm>

namespace simmesh {

namespace {

class StarvingPolicy final : public SchedulePolicy {
 public:
  StarvingPolicy(std::unique_ptr<SchedulePolicy> inner, std::vector<RankId> starved)
      : inner_(std::move(inner)), starved_(std::move(starved)) {}

  void add(RankId rank) override {
    if (std::find(starved_.begin(), starved_.end(), rank) != starved_.end()) {
      waiting_.push_back(rank);
    } else {
      inner_->add(rank);
      ++others_;
    }
  }

  RankId pick() override {
    if (others_ > 0) {
      --others_;
      return inner_->pick();
    }
    RankId rank = waiting_.front();
    waiting_.erase(waiting_.begin());
    return rank;
  }

  std::string error() const override { return inner_->error(); }
  void touched(RankId rank, std::uint64_t object) override { inner_->touched(rank, object); }
  bool listens() const override { return inner_->listens(); }

 private:
  std::unique_ptr<SchedulePolicy> inner_;
  std::vector<RankId> starved_;
  std::vector<RankId> waiting_;
  std::size_t others_ = 0;
};

}  // namespace

std::unique_ptr<SchedulePolicy> starving(std::unique_ptr<SchedulePolicy> inner,
                                         std::vector<RankId> starved) {
  return std::make_unique<StarvingPolicy>(std::move(inner), std::move(starved));
}

}  // namespace simmesh
