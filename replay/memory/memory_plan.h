#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// PlannedStorage is memory that a replay allocates at once: the views of one storage share it.
struct PlannedStorage {
  std::int64_t storage = 0;  // id in the trace
  TextId device = {};
  std::int64_t generation = 0;  // of this id on this device; 0 where ids aren't split
  std::int64_t bytes = 0;       // where the last of its views in the window ends
  std::int64_t first_node = 0;  // ids of the operators that have it
  std::int64_t last_node = 0;
  // True if one of its views, or the storage itself, must exist before the replay.
  bool has_pre_view = false;
  bool is_leaf = false;
};

// MemoryPoint is the bytes that are allocated while an operator runs.
struct MemoryPoint {
  std::int64_t node = 0;
  std::int64_t bytes = 0;

  bool operator==(const MemoryPoint&) const = default;
};

// MemoryPlanOptions select the operators and the device of a plan, and define when two storages are
// one.
struct MemoryPlanOptions {
  std::optional<std::size_t> step;  // of the trace; nullopt: all operators
  std::string device = "cuda";      // the prefix of the devices' names
  // True if the end of a view follows from its strides, where the trace has them.
  bool uses_strides = true;
  // True if a storage id that comes back for other memory counts as another storage.
  bool splits_generations = false;
};

// MemoryPlan is what a replay of a rank would allocate on one device. It is arithmetic on the
// trace: no memory of that size is needed. Storage ids follow addresses, so an id
// may return for other memory; PyTorch's replay tool takes it for the same storage, and so does a
// plan without splits_generations.
//
//   inline std::int64_t peak_bytes(const replay::ExecutionTrace& trace) {
//     return replay::memory_plan(trace, {.step = 0, .device = "cuda"}).lazy_peak_bytes;
//   }
struct MemoryPlan {
  std::size_t operators = 0;
  std::size_t comm_operators = 0;
  std::vector<PlannedStorage> storages;  // in the order in which they appear
  std::int64_t sum_bytes = 0;
  // PRE_ALLOCATE: a view (a tensor tuple without its device, and a shape) must exist beforehand if
  // it first appears as an input, or on a communication node. pre_bytes is of the storages of such
  // views. Storages stay until the end of the step.
  std::size_t pre_views = 0;
  std::size_t pre_storages = 0;
  std::int64_t pre_bytes = 0;
  // The same by storage instead of by view: the need of a program that keeps whole storages.
  std::size_t leaf_storages = 0;
  std::int64_t leaf_bytes = 0;
  // LAZY_ALLOCATE: a storage is allocated by the first operator that has it and freed after the
  // last.
  std::int64_t lazy_peak_bytes = 0;
  std::int64_t lazy_peak_node = 0;  // the first one at which it is reached
  // Storages, where an id that comes back counts again: with another item size, beyond the end of
  // an operator's output, or on another device.
  std::size_t generations = 0;
  // By operator. Under PRE_ALLOCATE it begins with pre_bytes and ends with sum_bytes.
  std::vector<MemoryPoint> lazy_curve;
  std::vector<MemoryPoint> pre_curve;
};

// memory_plan makes the plan of a trace. Raises an IndexError for a step that the trace doesn't
// have, and a ValueError for a trace without nodes and where views end beyond 2^63 bytes.
MemoryPlan memory_plan(const ExecutionTrace& trace, const MemoryPlanOptions& options = {});

}  // namespace simmesh::replay
