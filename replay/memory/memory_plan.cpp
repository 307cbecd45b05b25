#include "replay/memory/memory_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/check/error.h"
#include "replay/memory/storage_reuse.h"
#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view memory_place = "replay/memory";

// Key by which the plan tells views apart; the shape is a range of the trace's numbers.
using ViewKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                           std::int64_t, std::vector<std::int64_t>>;

// Planner walks through the operators of a window and collects their storages.
class Planner {
 public:
  Planner(const ExecutionTrace& trace, const MemoryPlanOptions& options)
      : trace_(trace), options_(options) {}

  MemoryPlan plan() {
    std::vector<std::uint32_t> window =
        window_of(trace_, replay_list(trace_, tree_of(trace_)), options_.step);
    plan_.operators = window.size();
    touched_.resize(window.size());
    nodes_.resize(window.size());
    for (place_ = 0; place_ < window.size(); ++place_) add_operator(trace_.nodes[window[place_]]);
    sum_up();
    walk();
    return std::move(plan_);
  }

 private:
  struct OfId {
    std::uint32_t storage = 0;  // its latest generation
    std::int64_t generation = 0;
    StorageReuse reuse = {};
  };

  void add_operator(const TraceNode& node) {
    nodes_[place_] = node.id;
    bool is_comm = is_communication(trace_, node);
    plan_.comm_operators += is_comm;
    for (const TraceTensor& tensor : trace_.tensors_in(node.inputs))
      add_view(tensor, true, is_comm);
    for (const TraceTensor& tensor : trace_.tensors_in(node.outputs))
      add_view(tensor, false, is_comm);
  }

  void add_view(const TraceTensor& tensor, bool is_input, bool is_comm) {
    if (!tensor.is_defined || !trace_.text(tensor.device).starts_with(options_.device)) return;
    std::int64_t end = end_bytes(trace_, tensor, options_.uses_strides);
    std::uint32_t index = storage_of(tensor, end, is_input);
    PlannedStorage& storage = plan_.storages[index];
    bool is_before = is_input || is_comm;
    if (storage.first_node == -1) {
      storage.first_node = nodes_[place_];
      storage.is_leaf = is_before;
    }
    storage.last_node = nodes_[place_];
    storage.bytes = std::max(storage.bytes, end);
    touched_[place_].push_back(index);
    gsl::span<const std::int64_t> shape = trace_.numbers_in(tensor.shape);
    bool is_new = views_
                      .emplace(tensor.tensor, tensor.storage, storage.generation, tensor.offset,
                               tensor.elements, tensor.item_bytes,
                               std::vector<std::int64_t>(shape.begin(), shape.end()))
                      .second;
    if (!is_new || !is_before) return;
    ++plan_.pre_views;
    storage.has_pre_view = true;
  }

  // storage_of returns the place of a view's storage, and adds a new one.
  std::uint32_t storage_of(const TraceTensor& tensor, std::int64_t end, bool is_input) {
    auto [found, is_new] = by_id_.try_emplace({tensor.storage, tensor.device});
    OfId& of_id = found->second;
    bool is_reused = of_id.reuse.is_new_memory(tensor, end, is_input, place_);
    plan_.generations += is_new || is_reused;
    if (!is_new && !(is_reused && options_.splits_generations)) return of_id.storage;
    of_id.generation += !is_new;
    of_id.storage = std::uint32_t(plan_.storages.size());
    plan_.storages.push_back({.storage = tensor.storage,
                              .device = tensor.device,
                              .generation = of_id.generation,
                              .first_node = -1});
    return of_id.storage;
  }

  void sum_up() {
    for (const PlannedStorage& storage : plan_.storages) {
      if (__builtin_add_overflow(plan_.sum_bytes, storage.bytes, &plan_.sum_bytes))
        raise(ErrorKind::value_error, memory_place, "storages add up to more than 2^63 bytes");
      if (storage.has_pre_view) {
        ++plan_.pre_storages;
        plan_.pre_bytes += storage.bytes;
      }
      if (storage.is_leaf) {
        ++plan_.leaf_storages;
        plan_.leaf_bytes += storage.bytes;
      }
    }
  }

  // walk allocates and frees as a replay would; sum_bytes bounds all that it adds up.
  void walk() {
    std::vector<bool> is_live(plan_.storages.size()), is_there(plan_.storages.size());
    std::vector<std::size_t> last_places(plan_.storages.size());
    for (std::size_t place = 0; place < touched_.size(); ++place)
      for (std::uint32_t index : touched_[place]) last_places[index] = place;
    for (std::size_t i = 0; i < plan_.storages.size(); ++i)
      is_there[i] = plan_.storages[i].has_pre_view;
    std::int64_t lazy = 0, pre = plan_.pre_bytes;
    for (std::size_t place = 0; place < touched_.size(); ++place) {
      for (std::uint32_t index : touched_[place]) {
        std::int64_t bytes = plan_.storages[index].bytes;
        if (!is_live[index]) lazy += bytes;
        if (!is_there[index]) pre += bytes;
        is_live[index] = is_there[index] = true;
      }
      plan_.lazy_curve.push_back({nodes_[place], lazy});
      plan_.pre_curve.push_back({nodes_[place], pre});
      if (lazy > plan_.lazy_peak_bytes) {
        plan_.lazy_peak_bytes = lazy;
        plan_.lazy_peak_node = nodes_[place];
      }
      for (std::uint32_t index : touched_[place]) {
        if (!is_live[index] || last_places[index] != place) continue;
        is_live[index] = false;
        lazy -= plan_.storages[index].bytes;
      }
    }
  }

  const ExecutionTrace& trace_;
  const MemoryPlanOptions& options_;
  MemoryPlan plan_;
  std::map<std::pair<std::int64_t, TextId>, OfId> by_id_;
  std::set<ViewKey> views_;
  std::vector<std::vector<std::uint32_t>> touched_;  // storages by operator
  std::vector<std::int64_t> nodes_;                  // ids by operator
  std::size_t place_ = 0;                            // of the operator
};

}  // namespace

MemoryPlan memory_plan(const ExecutionTrace& trace, const MemoryPlanOptions& options) {
  return Planner(trace, options).plan();
}

}  // namespace simmesh::replay
