#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "zero/fetch/coordinator.h"

namespace simmesh::zero {

// SimulatedSink does a coordinator's decisions without tensors, keeps a log of them, and fails the
// test where a decision is impossible: a gather of an available parameter, a wait without a gather,
// a release of one that isn't available.
class SimulatedSink final : public FetchSink {
 public:
  explicit SimulatedSink(const FetchGraph& graph) : graph_(graph), states_(graph.param_count()) {}

  void gather(gsl::span<const ParamId> params) override {
    EXPECT_TRUE(std::is_sorted(params.begin(), params.end()));
    std::string line = "gather";
    for (ParamId id : params) {
      EXPECT_EQ(states_[std::size_t(id)], State::partitioned) << id;
      states_[std::size_t(id)] = State::in_flight;
      live_ += graph_.param(id).numel;
      line += " " + std::to_string(id);
    }
    log.push_back(line);
    highest = std::max(highest, live_);
  }

  void wait(ParamId param) override {
    EXPECT_EQ(states_[std::size_t(param)], State::in_flight) << param;
    states_[std::size_t(param)] = State::whole;
  }

  void release(ParamId param) override {
    EXPECT_EQ(states_[std::size_t(param)], State::whole) << param;
    states_[std::size_t(param)] = State::partitioned;
    live_ -= graph_.param(param).numel;
    log.push_back("release " + std::to_string(param));
  }

  void agree(std::string_view what, gsl::span<const std::int64_t> values) override {
    std::string line = "agree on " + std::string(what);
    for (std::int64_t value : values) line += " " + std::to_string(value);
    log.push_back(line);
  }

  // Shards in a file; nobody has started to read the absent ones, and the test reads ahead.
  bool is_absent(ParamId param) const override {
    return std::find(absent.begin(), absent.end(), param) != absent.end();
  }

  // gather_elsewhere is a blocking gather.
  void gather_elsewhere(ParamId param) {
    EXPECT_EQ(states_[std::size_t(param)], State::partitioned) << param;
    states_[std::size_t(param)] = State::whole;
    live_ += graph_.param(param).numel;
    log.push_back("blocking " + std::to_string(param));
  }

  bool is_whole(ParamId param) const { return states_[std::size_t(param)] == State::whole; }
  std::int64_t live() const { return live_; }
  std::int64_t in_flight() const {
    return std::count(states_.begin(), states_.end(), State::in_flight);
  }

  std::vector<std::string> log;
  std::vector<ParamId> absent;
  std::int64_t highest = 0;

 private:
  enum class State : std::uint8_t { partitioned, in_flight, whole };

  const FetchGraph& graph_;
  std::vector<State> states_;
  std::int64_t live_ = 0;
};

}  // namespace simmesh::zero
