#include "pipeline/analysis/liveness.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "core/check/error.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;
using StageMicrobatch = std::pair<std::int64_t, std::int64_t>;

constexpr const char* liveness_where = "pipeline/liveness";

std::string text_of(const StageMicrobatch& key) {
  return fmt::format("({}, {})", key.first, key.second);
}

// Interval is places of a row, both ends included.
struct Interval {
  std::int64_t first;
  std::int64_t last;
};

// LivenessRecord is where the activations of some stages begin and end.
class LivenessRecord {
 public:
  LivenessRecord(const std::vector<std::int64_t>& stages, std::int64_t microbatches)
      : stages_(stages.begin(), stages.end()), microbatches_(microbatches) {}

  void add(const Action& action, std::int64_t place) {
    if (!is_compute(action.kind) || stages_.count(action.stage) == 0) return;
    if (!action.microbatch)
      raise(ErrorKind::value_error, liveness_where, "Compute action {} has no microbatch index",
            to_string(action));
    if (*action.microbatch < 0 || *action.microbatch >= microbatches_)
      raise(ErrorKind::value_error, liveness_where, "Action {} has a microbatch outside [0, {})",
            to_string(action), microbatches_);
    StageMicrobatch key{action.stage, *action.microbatch};
    if (action.kind == forward)
      require_first(forwards_.emplace(key, place).second, key, "multiple forwards");
    if (action.kind == backward_input)
      require_first(inputs_.insert(key).second, key, "multiple input backwards");
    if (action.kind == full_backward || action.kind == backward_weight)
      require_first(releases_.emplace(key, place).second, key, "multiple release actions");
    if (action.kind == backward_weight) weights_.insert(key);
  }

  // Returns all lifetimes, by stage and micro-batch.
  std::map<StageMicrobatch, Interval> lifetimes() const {
    require_all(forwards_, "Forward actions");
    require_all(releases_, "Backward release actions");
    for (const StageMicrobatch& key : weights_)
      if (inputs_.count(key) == 0)
        raise(ErrorKind::value_error, liveness_where,
              "Activation lifetimes have weight backward without input backward: {}", text_of(key));
    std::map<StageMicrobatch, Interval> lifetimes;
    for (const auto& [key, first] : forwards_) {
      std::int64_t last = releases_.at(key);
      if (last < first)
        raise(ErrorKind::value_error, liveness_where,
              "Activation lifetime {} ends before its forward", text_of(key));
      lifetimes[key] = {first, last};
    }
    return lifetimes;
  }

 private:
  static void require_first(bool is_first, const StageMicrobatch& key, const char* what) {
    if (!is_first)
      raise(ErrorKind::value_error, liveness_where, "Activation lifetime {} has {}", text_of(key),
            what);
  }

  void require_all(const std::map<StageMicrobatch, std::int64_t>& places, const char* what) const {
    for (std::int64_t stage : stages_)
      for (std::int64_t i = 0; i < microbatches_; ++i)
        if (StageMicrobatch key{stage, i}; places.count(key) == 0)
          raise(ErrorKind::value_error, liveness_where,
                "{} do not match tracked activations: {} is missing", what, text_of(key));
  }

  std::set<std::int64_t> stages_;
  std::int64_t microbatches_;
  std::map<StageMicrobatch, std::int64_t> forwards_, releases_;
  std::set<StageMicrobatch> inputs_, weights_;
};

// Returns a slot for each interval.
std::vector<std::int64_t> assign_slots(const std::vector<Interval>& intervals) {
  std::vector<std::size_t> order(intervals.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(intervals[a].first, intervals[a].last, a) <
           std::tuple(intervals[b].first, intervals[b].last, b);
  });
  using Owner = std::pair<std::int64_t, std::int64_t>;  // the end of an interval and its slot
  std::priority_queue<Owner, std::vector<Owner>, std::greater<>> owners;
  std::set<std::int64_t> free_slots;
  std::vector<std::int64_t> slots(intervals.size());
  for (std::size_t i : order) {
    while (!owners.empty() && owners.top().first < intervals[i].first) {
      free_slots.insert(owners.top().second);
      owners.pop();
    }
    if (free_slots.empty()) free_slots.insert(std::int64_t(owners.size()));
    slots[i] = *free_slots.begin();
    free_slots.erase(free_slots.begin());
    owners.emplace(intervals[i].last, slots[i]);
  }
  return slots;
}

}  // namespace

LivenessGranularity liveness_granularity_from_string(std::string_view name) {
  if (name == "stage_microbatch") return LivenessGranularity::stage_microbatch;
  if (name == "microbatch") return LivenessGranularity::microbatch;
  raise(ErrorKind::value_error, liveness_where,
        "Unsupported activation granularity: {}, expected stage_microbatch or microbatch", name);
}

ActivationLiveness analyze_activation_liveness(const Row& row, std::vector<std::int64_t> stages,
                                               std::int64_t microbatches,
                                               LivenessGranularity granularity) {
  if (stages.empty())
    raise(ErrorKind::value_error, liveness_where, "stage_indices must not be empty");
  std::sort(stages.begin(), stages.end());
  if (std::adjacent_find(stages.begin(), stages.end()) != stages.end())
    raise(ErrorKind::value_error, liveness_where, "stage_indices must be unique");
  LivenessRecord record(stages, microbatches);
  for (std::size_t place = 0; place < row.size(); ++place)
    for (const Action& leaf : row[place].leaves()) record.add(leaf, std::int64_t(place));
  std::vector<Interval> intervals;
  std::map<StageMicrobatch, Interval> lifetimes = record.lifetimes();
  bool is_shared = granularity == LivenessGranularity::microbatch;
  for (const auto& [key, lifetime] : lifetimes) {
    auto microbatch = std::size_t(key.second);
    if (!is_shared || microbatch == intervals.size()) {
      intervals.push_back(lifetime);
      continue;
    }
    Interval& shared = intervals[microbatch];
    shared = {std::min(shared.first, lifetime.first), std::max(shared.last, lifetime.last)};
  }
  std::vector<std::int64_t> slots = assign_slots(intervals);
  ActivationLiveness liveness;
  for (std::int64_t slot : slots) liveness.slots = std::max(liveness.slots, slot + 1);
  for (const auto& [key, lifetime] : lifetimes) {
    std::size_t i = is_shared ? std::size_t(key.second) : liveness.lifetimes.size();
    liveness.lifetimes.push_back(
        {key.first, key.second, slots[i], intervals[i].first, intervals[i].last});
  }
  return liveness;
}

}  // namespace simmesh::pipeline
