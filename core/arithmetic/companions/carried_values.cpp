#include "core/arithmetic/companions/carried_values.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/arithmetic/sums/unrounded_sums.h"

namespace simmesh {

namespace {

// Returns elements of a part, from byte `from` to byte `to` of its buffer.
ExactValues elements_between(const CarriedPart& part, std::int64_t from, std::int64_t to) {
  std::int64_t count = (to - from) / std::int64_t(bytes_per_element(part.dtype));
  return ExactValues::of({part.buffer.data() + from, part.dtype, {count}, {1}});
}

ExactValues values_of_run(const SumRun& run) {
  ExactValues values = ExactValues::of_sums(run.sums->slice({run.first, run.count}));
  return run.is_root ? values.root() : values;
}

// Returns the runs of a part; without roots where there are other values beside them.
SumRuns runs_of_part(const CarriedPart& part, std::int64_t from, std::int64_t to) {
  SumRuns runs;
  auto element = std::int64_t(bytes_per_element(part.dtype));
  for (const SumRun& run : UnroundedSums::of(part.buffer.companion())->runs())
    if (auto within = run.within(from, to); within && run.element_bytes == element)
      runs.push_back(*within);
  auto is_root = [](const SumRun& run) { return run.is_root; };
  if (!std::all_of(runs.begin(), runs.end(), is_root))
    runs.erase(std::remove_if(runs.begin(), runs.end(), is_root), runs.end());
  return runs;
}

}  // namespace

void carry_in(const CarriedOperand& operand, Tensor& copy) {
  const ElementArray& array = operand.elements.array;
  if (!is_floating_point(array.dtype) || array.count() == 0) return;
  std::optional<ExactValues> values;
  if (operand.record) values = operand.record->read(operand.elements);
  if (!values && operand.factor == 1.0) return;
  if (!values || (values->is_root() && operand.factor != 1.0)) values = ExactValues::of(array);
  bool is_root = values->is_root();
  CarriedSums sums = (is_root ? values->square() : values->scaled(operand.factor)).sums();
  Buffer& buffer = *copy.storage()->buffer();
  buffer.set_companion(
      UnroundedSums::joined(nullptr, {.begin = std::int64_t(copy.storage()->buffer_offset()),
                                      .count = copy.numel(),
                                      .element_bytes = array.element_bytes(),
                                      .sums = std::make_shared<const CarriedSums>(std::move(sums)),
                                      .first = 0,
                                      .is_root = is_root}));
}

std::optional<ExactValues> carried_values(const CarriedPart& part) {
  if (!is_floating_point(part.dtype) || !part.buffer.companion()) return std::nullopt;
  auto from = std::int64_t(part.offset);
  std::int64_t to = from + part.count * std::int64_t(bytes_per_element(part.dtype));
  SumRuns runs = runs_of_part(part, from, to);
  if (runs.empty()) return std::nullopt;
  std::vector<ExactValues> parts;
  std::int64_t at = from;
  for (const SumRun& run : runs) {
    if (at < run.begin) parts.push_back(elements_between(part, at, run.begin));
    parts.push_back(values_of_run(run));
    at = run.end();
  }
  if (at < to) parts.push_back(elements_between(part, at, to));
  return parts.size() == 1 ? parts[0] : ExactValues::joined(parts);
}

}  // namespace simmesh
