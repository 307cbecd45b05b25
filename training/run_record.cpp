#include "training/run_record.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "core/engine/run/known.h"
#include "core/engine/spread/message_bytes.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

namespace {

std::string element_text(DType dtype, const std::byte* bytes) {
  std::string bits;
  for (std::size_t i = bytes_per_element(dtype); i-- > 0;)
    bits += fmt::format("{:02x}", unsigned(bytes[i]));
  return visit_dtype(dtype, [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, bytes, sizeof value);
    return fmt::format("{} (bits {})", double(value), bits);
  });
}

std::string type_text(DType dtype, DimSpan shape) {
  return fmt::format("{}{}", to_string(dtype), to_string(shape));
}

Dims index_of(std::size_t position, const Shape& shape) {
  Dims index(shape.size(), 0);
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = std::int64_t(position % std::size_t(shape[dim]));
    position /= std::size_t(shape[dim]);
  }
  return index;
}

std::optional<Difference> tensor_difference(const RecordedTensor& expected,
                                            const nn::NamedTensor& actual) {
  const auto& [name, tensor] = actual;
  if (tensor.dtype() != expected.dtype || tensor.shape() != expected.shape)
    return Difference{name, type_text(expected.dtype, expected.shape),
                      type_text(tensor.dtype(), tensor.shape())};
  Tensor values = tensor.contiguous();
  if (values.bytes() == 0 || !std::memcmp(values.data(), expected.bytes.data(), values.bytes()))
    return std::nullopt;
  std::size_t size = bytes_per_element(expected.dtype), element = 0;
  while (!std::memcmp(values.data() + element * size, expected.bytes.data() + element * size, size))
    ++element;
  return Difference{
      fmt::format("{}, element {}", name, to_string(DimSpan(index_of(element, expected.shape)))),
      element_text(expected.dtype, expected.bytes.data() + element * size),
      element_text(expected.dtype, values.data() + element * size)};
}

bool is_all_zeros(const Tensor& tensor) {
  Tensor values = tensor.contiguous();
  if (values.numel() == 0) return true;
  return std::all_of(values.data(), values.data() + values.bytes(),
                     [](std::byte byte) { return byte == std::byte(0); });
}

// The names differ at this index, so one of the two runs has a tensor that the other doesn't have.
Difference missing_or_extra(const RunRecord& expected, std::size_t index,
                            const std::vector<nn::NamedTensor>& actual) {
  auto is_recorded = [&](const std::string& name) {
    return std::any_of(expected.begin(), expected.end(),
                       [&](const RecordedTensor& tensor) { return tensor.name == name; });
  };
  bool is_extra =
      index >= expected.size() || (index < actual.size() && !is_recorded(actual[index].first));
  if (!is_extra) return {expected[index].name, "a tensor", "none"};
  const auto& [name, tensor] = actual[index];
  bool is_zeros = is_all_zeros(tensor);
  return {name, "no such tensor", is_zeros ? "one of zeros" : "one", is_zeros};
}

}  // namespace

std::vector<nn::NamedTensor> named_results(const TrainingResult& result) {
  std::vector<nn::NamedTensor> named;
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    std::int64_t step = result.first_step + std::int64_t(i);
    named.emplace_back(fmt::format("step {} loss", step), result.losses[i].detach());
    named.emplace_back(fmt::format("step {} gradient norm", step), result.norms[i].detach());
    for (const auto& [name, gradient] : result.gradients[i])
      named.emplace_back(fmt::format("step {} gradient of {}", step, name), gradient);
  }
  for (const auto& [name, tensor] : result.parameters)
    named.emplace_back("parameter " + name, tensor);
  for (const auto& [name, tensor] : result.optimizer_state)
    named.emplace_back("optimizer state " + name, tensor);
  return named;
}

RunRecord from_step(const RunRecord& record, std::int64_t first_step) {
  RunRecord later;
  for (const RecordedTensor& tensor : record) {
    bool is_earlier = false;
    for (std::int64_t step = 0; step < first_step; ++step)
      is_earlier |= tensor.name.starts_with(fmt::format("step {} ", step));
    if (!is_earlier) later.push_back(tensor);
  }
  return later;
}

void record_results(Rank& rank, const std::vector<nn::NamedTensor>& results) {
  for (const auto& [name, tensor] : results) rank.record(tensor);
}

RunRecord copy_of(const std::vector<nn::NamedTensor>& results) {
  RunRecord record;
  for (const auto& [name, tensor] : results) {
    Tensor values = known_tensor(tensor.contiguous(), name).contiguous();
    RecordedTensor copy{name, tensor.dtype(), tensor.shape(), {}};
    if (values.bytes() > 0) copy.bytes.assign(values.data(), values.data() + values.bytes());
    record.push_back(std::move(copy));
  }
  return record;
}

namespace {

std::optional<Difference> own_difference(const RunRecord& expected,
                                         const std::vector<nn::NamedTensor>& actual) {
  for (std::size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    bool is_paired = i < std::min(expected.size(), actual.size());
    if (!is_paired || expected[i].name != actual[i].first)
      return missing_or_extra(expected, i, actual);
    if (auto difference = tensor_difference(expected[i], actual[i])) return difference;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> first_difference(const RunRecord& expected,
                                           const std::vector<nn::NamedTensor>& actual) {
  std::string text = known_text("the first difference", [&] {
    auto difference = own_difference(expected, actual);
    MessageWriter writer;
    if (!difference) return std::string();
    for (const std::string* part : {&difference->where, &difference->expected, &difference->actual})
      writer.put_text(*part);
    writer.put(difference->is_extra_zeros);
    return message_text(writer.take());
  });
  if (text.empty()) return std::nullopt;
  MessageReader reader(message_bytes(text));
  Difference difference;
  for (std::string* part : {&difference.where, &difference.expected, &difference.actual})
    *part = reader.get_text();
  difference.is_extra_zeros = reader.get<bool>();
  return difference;
}

}  // namespace simmesh
