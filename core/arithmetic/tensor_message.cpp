#include "core/arithmetic/tensor_message.h"

#include <cstring>
#include <utility>
#include <vector>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/unrounded_sums.h"

namespace simmesh {

namespace {

struct SumFacts {
  std::int64_t count = 0;
  std::int64_t divisor = 1;
  std::int32_t low = 0;
  std::int32_t digits = 0;
  std::uint64_t non_finite = 0;
};

void write_sums(MessageWriter& message, const CarriedSums& sums) {
  SumFacts facts{sums.count(), sums.divisor(), sums.low(), sums.digit_count(),
                 sums.non_finite().size()};
  message.put(facts);
  if (facts.digits > 0)
    message.put_bytes(sums.digit(0),
                      std::size_t(facts.digits * facts.count) * sizeof(std::int32_t));
  message.put_bytes(sums.non_finite().data(), facts.non_finite * sizeof(std::int64_t));
}

template <class T>
std::vector<T> read_values(MessageReader& message, std::size_t count) {
  gsl::span<const std::byte> bytes = message.get_bytes(count * sizeof(T));
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

CarriedSums read_sums(MessageReader& message) {
  auto facts = message.get<SumFacts>();
  auto digits = read_values<std::int32_t>(message, std::size_t(facts.digits * facts.count));
  auto non_finite = read_values<std::int64_t>(message, std::size_t(facts.non_finite));
  CarriedSums sums = CarriedSums::of_digits(std::move(digits), facts.count, facts.low);
  if (non_finite.empty()) return sums.over(facts.divisor);
  DigitSums counted(facts.count, {.low = facts.low, .count = facts.digits + 1});
  counted.add_sums(sums);
  for (std::size_t i = 0; i < non_finite.size(); ++i)
    counted.add_non_finite(std::int64_t(i), non_finite[i]);
  return counted.take(facts.divisor);
}

struct RunFacts {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t element_bytes = 0;
  std::int64_t is_root = 0;
};

SumRuns read_runs(MessageReader& message) {
  SumRuns runs(std::size_t(message.get<std::uint64_t>()));
  for (SumRun& run : runs) {
    auto facts = message.get<RunFacts>();
    run = {facts.begin, facts.count, facts.element_bytes, nullptr, 0, facts.is_root != 0};
    run.sums = std::make_shared<const CarriedSums>(read_sums(message));
  }
  return runs;
}

Tensor copied_tensor(gsl::span<const std::byte> bytes, DType dtype, const Shape& shape) {
  Tensor tensor = empty(shape, dtype);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

// The tensor has the bytes of the message if `views`, and they can be shared.
Tensor tensor_from(MessageReader& message, DType dtype, const Shape& shape, bool views) {
  std::size_t bytes = std::size_t(numel(shape)) * bytes_per_element(dtype);
  message.align();
  std::size_t position = message.position();
  gsl::span<const std::byte> elements = message.get_bytes(bytes);
  SumRuns runs = read_runs(message);
  if (views && runs.empty() && message.buffer())
    return Tensor(Storage::share(message.buffer(), position, bytes), dtype, shape);
  Tensor tensor = copied_tensor(elements, dtype, shape);
  if (!runs.empty())
    tensor.storage()->buffer()->set_companion(UnroundedSums::make(std::move(runs)));
  return tensor;
}

}  // namespace

void write_tensor(MessageWriter& message, const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  message.align();
  message.put_bytes(rows.bytes() > 0 ? rows.data() : nullptr, rows.bytes());
  CompanionPtr companion;
  if (rows.bytes() > 0) {
    std::size_t begin = rows.storage()->buffer_offset() +
                        std::size_t(rows.storage_offset()) * bytes_per_element(rows.dtype());
    const CompanionPtr& whole = rows.storage()->buffer()->companion();
    if (whole) companion = whole->slice({begin, rows.bytes()});
  }
  const UnroundedSums* sums = UnroundedSums::of(companion);
  message.put(std::uint64_t(sums ? sums->runs().size() : 0));
  if (!sums) return;
  for (const SumRun& run : sums->runs()) {
    message.put(RunFacts{run.begin, run.count, run.element_bytes, run.is_root ? 1 : 0});
    write_sums(message, run.sums->slice({run.first, run.count}));
  }
}

Tensor read_tensor(MessageReader& message, DType dtype, const Shape& shape) {
  return tensor_from(message, dtype, shape, false);
}

Tensor view_tensor(MessageReader& message, DType dtype, const Shape& shape) {
  return tensor_from(message, dtype, shape, true);
}

}  // namespace simmesh
