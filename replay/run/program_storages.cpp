#include "replay/run/program_storages.h"

#include <algorithm>

#include "core/check/error.h"
#include "replay/run/element_type.h"
#include "replay/run/operator_work.h"

namespace simmesh::replay {

ProgramStorages::ProgramStorages(const ExecutionTrace& trace, RankProgram& program)
    : trace_(trace), program_(program), device_(device_of(trace)) {}

void ProgramStorages::begin_node(const TraceNode& node) {
  node_ = node.id;
  auto inputs = trace_.tensors_in(node.inputs);
  for (const TraceTensor& output : trace_.tensors_in(node.outputs)) {
    if (!output.is_defined) continue;
    bool is_own = std::any_of(inputs.begin(), inputs.end(), [&](const TraceTensor& input) {
      return input.is_defined && input.storage == output.storage && input.device == output.device;
    });
    if (!is_own) begin_generation(output);
  }
}

void ProgramStorages::begin_generation(const TraceTensor& output) {
  auto found = current_.find({output.storage, output.device});
  if (found == current_.end()) return;
  const ProgramStorage& before = program_.storages[found->second];
  if (item_bytes_[found->second] == output.item_bytes &&
      end_bytes(trace_, output) <= before.bytes)
    return;
  std::uint32_t generation = before.generation + 1;
  current_.erase(found);
  program_.storages[current(output, false)].generation = generation;
}

// The storage that an id stands for now; a new one where there is none.
std::uint32_t ProgramStorages::current(const TraceTensor& tensor, bool is_input) {
  auto [found, is_new] = current_.try_emplace({tensor.storage, tensor.device},
                                              std::uint32_t(program_.storages.size()));
  if (!is_new) return found->second;
  program_.storages.push_back(
      {.id = tensor.storage,
       .is_on_device = trace_.text(tensor.device).starts_with(device_),
       .is_leaf = is_input});
  item_bytes_.push_back(tensor.item_bytes);
  return found->second;
}

void ProgramStorages::require_sizes(const TraceTensor& tensor) const {
  constexpr std::int64_t elements_max = std::int64_t(1) << 44, item_bytes_max = 1 << 16;
  auto fits = [](std::int64_t value, std::int64_t max) { return value >= 0 && value <= max; };
  if (!fits(tensor.elements, elements_max) || !fits(tensor.offset, elements_max) ||
      !fits(tensor.item_bytes, item_bytes_max))
    raise(ErrorKind::value_error, "replay/make_program",
          "{}: node {}: expected a tensor of up to {} elements of up to {} bytes, got {} elements "
          "of {} bytes from element {} on",
          program_.file, node_, elements_max, item_bytes_max, tensor.elements, tensor.item_bytes,
          tensor.offset);
}

std::uint32_t ProgramStorages::touch(const TraceTensor& tensor, bool is_input) {
  require_sizes(tensor);
  std::uint32_t index = current(tensor, is_input);
  ProgramStorage& storage = program_.storages[index];
  storage.bytes =
      std::max({storage.bytes, end_bytes(trace_, tensor), end_bytes(trace_, tensor, false)});
  used_.push_back(index);
  return index;
}

ProgramTensor ProgramStorages::view_of(const TraceTensor& tensor) {
  std::uint32_t index = touch(tensor, true);
  program_.storages[index].communicates = true;
  ElementType type = element_type(trace_.text(tensor.type), tensor.item_bytes);
  return {.storage = index,
          .begin_bytes = tensor.offset * tensor.item_bytes,
          .elements = tensor.elements * type.per_element,
          .dtype = type.dtype};
}

ProgramTensor ProgramStorages::scratch(std::int64_t elements, DType dtype) {
  std::uint32_t index = std::uint32_t(program_.storages.size());
  program_.storages.push_back({.bytes = elements * std::int64_t(bytes_per_element(dtype)),
                               .is_on_device = true,
                               .communicates = true});
  item_bytes_.push_back(std::int64_t(bytes_per_element(dtype)));
  used_.push_back(index);
  return {.storage = index, .elements = elements, .dtype = dtype};
}

TraceRange ProgramStorages::use(std::uint32_t step) {
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  TraceRange range{std::uint32_t(program_.indices.size()), 0};
  program_.indices.insert(program_.indices.end(), used_.begin(), used_.end());
  range.end = std::uint32_t(program_.indices.size());
  for (std::uint32_t index : used_) program_.storages[index].last_step = step;
  used_.clear();
  return range;
}

}  // namespace simmesh::replay
