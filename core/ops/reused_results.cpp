#include "core/ops/reused_results.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/clock/clock.h"
#include "core/memory/data_mode.h"
#include "core/ops/compute_mode.h"
#include "core/ops/op_observer.h"

namespace simmesh {

namespace {

struct Active {
  ReusedResults::Line* line = nullptr;
  ReusedReductions* reductions = nullptr;
};

ReusedResults::Line*& active_line() { return local_state<Active>().line; }

// A zero differs from a negative one.
bool is_same_value(const AttributeValue& a, const AttributeValue& b) {
  if (const auto* number = std::get_if<double>(&a))
    if (const auto* other = std::get_if<double>(&b))
      return std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(*other);
  return a == b;
}

bool are_same(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NamedAttribute& one, const NamedAttribute& other) {
                      return one.name == other.name && is_same_value(one.value, other.value);
                    });
}

void prefetch(const void* begin, std::size_t bytes) {
  constexpr std::size_t line_bytes = 64;
  for (std::size_t at = 0; at < bytes; at += line_bytes)
    __builtin_prefetch(static_cast<const std::byte*>(begin) + at);
}

bool is_plain(const Tensor& tensor) {
  return !tensor.is_defined() ||
         (!tensor.distribution() && tensor.has_elements() && !tensor.storage()->is_freed());
}

}  // namespace

ReusedResults::ReusedResults(std::size_t ranks, std::size_t bytes_max) : reductions_(bytes_max) {
  for (std::size_t rank = 0; rank < ranks; ++rank)
    lines_.push_back(std::make_unique<Line>(bytes_max / ranks));
}

ReusedResults::~ReusedResults() = default;

std::uint64_t ReusedResults::reused() const {
  std::uint64_t all = reductions_.reused();
  for (const auto& line : lines_) all += line->reused();
  return all;
}

ReusedResults::Scope::Scope(ReusedResults& results) {
  if (Clock::active() || OpObserver::active() || DataMode::shapes_only()) return;
  Line& line = *results.lines_[this_rank().id()];
  line.begin();
  local_state<Active>() = {&line, &results.reductions_};
}

ReusedResults::Scope::~Scope() { local_state<Active>() = {}; }

ReusedReductions* ReusedReductions::active() { return local_state<Active>().reductions; }

ReusedResults::Line* ReusedResults::Line::active() { return active_line(); }

ReusedResults::Line::Pause::Pause() : hidden_(std::exchange(active_line(), nullptr)) {}
ReusedResults::Line::Pause::~Pause() { active_line() = hidden_; }

void ReusedResults::Line::begin() {
  next_ = 0;
  is_in_step_ = true;
}

bool ReusedResults::Line::is_same(const Entry& entry, const ComputedOp& computed) {
  const ComputeMode& mode = compute_mode();
  return entry.flags == computed.flags && entry.keeps_unrounded == mode.keeps_unrounded &&
         entry.arithmetic == current_arithmetic(mode) &&
         are_same(entry.attributes, computed.attributes) &&
         std::equal(entry.types.begin(), entry.types.end(), computed.types.begin(),
                    computed.types.end()) &&
         std::equal(entry.operands.begin(), entry.operands.end(), computed.operands.begin(),
                    computed.operands.end(), [](const KeptOperand& known, const Tensor& now) {
                      return known.has_bits_of(now);
                    });
}

std::vector<Tensor> ReusedResults::Line::tensors_of(const Entry& entry) {
  std::vector<Tensor> tensors;
  tensors.reserve(entry.results.size());
  for (const Result& result : entry.results) {
    if (!result.buffer)
      tensors.emplace_back();
    else
      tensors.emplace_back(Storage::share(result.buffer, result.begin, result.bytes), result.dtype,
                           result.shape, result.strides, result.offset);
  }
  return tensors;
}

// The memory of an entry is out of the cache after a run of all ranks. It is fetched step by step
// while the program goes on: first the entry, then its lists, then what these name.
void ReusedResults::Line::fetch_ahead() const {
  if (next_ + 3 < entries_.size()) prefetch(&entries_[next_ + 3], sizeof(Entry));
  if (next_ + 2 < entries_.size()) {
    const Entry& entry = entries_[next_ + 2];
    prefetch(entry.operands.data(), entry.operands.size() * sizeof(KeptOperand));
    prefetch(entry.results.data(), entry.results.size() * sizeof(Result));
    prefetch(entry.types.data(), entry.types.size() * sizeof(TensorType));
  }
  if (next_ + 1 < entries_.size())
    for (const Result& result : entries_[next_ + 1].results)
      prefetch(result.buffer.get(), sizeof(Buffer));
}

ReusedResults::Line::Next ReusedResults::Line::go_on(const ComputedOp& computed) {
  if (!is_in_step_) return {};
  if (next_ == entries_.size()) {
    is_full_ |= bytes_ > bytes_max_;
    is_in_step_ = !is_full_;
    if (is_full_) return {};
    const ComputeMode& mode = compute_mode();
    entries_.push_back({.op = &computed.op,
                        .part = computed.part,
                        .keeps_unrounded = mode.keeps_unrounded,
                        .flags = computed.flags,
                        .arithmetic = current_arithmetic(mode),
                        .attributes = computed.attributes});
    std::size_t place = next_++;
    if (!std::all_of(computed.operands.begin(), computed.operands.end(), is_plain)) return {};
    return {.place = place};
  }
  fetch_ahead();
  const Entry& entry = entries_[next_++];
  is_in_step_ = entry.op == &computed.op && entry.part == computed.part;
  if (!is_in_step_ || !entry.has_results) return {};
  if (!is_same(entry, computed)) return {.has_other_operands = true};
  ++reused_;
  return {.known = tensors_of(entry)};
}

void ReusedResults::Line::keep(std::size_t place, const ComputedOp& computed,
                               gsl::span<const Tensor> results) {
  auto is_of_its_own = [&](const Tensor& result) {
    if (!result.is_defined()) return true;
    if (!is_plain(result) || result.tracking()) return false;
    auto shares = [&](const Tensor& other) {
      return &other != &result && other.storage() == result.storage();
    };
    return std::none_of(computed.operands.begin(), computed.operands.end(), shares) &&
           std::none_of(results.begin(), results.end(), shares);
  };
  if (!std::all_of(results.begin(), results.end(), is_of_its_own)) return;
  while (entries_.size() > place + 1) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
  next_ = entries_.size();
  is_in_step_ = true;
  Entry& entry = entries_[place];
  entry.types.assign(computed.types.begin(), computed.types.end());
  for (const Tensor& operand : computed.operands) {
    entry.operands.emplace_back(operand);
    if (operand.is_defined()) entry.bytes += entry.operands.back().span();
  }
  for (const Tensor& result : results) {
    Result& kept = entry.results.emplace_back();
    if (!result.is_defined()) continue;
    const Storage& storage = *result.storage();
    kept = {.buffer = storage.buffer(),
            .begin = storage.buffer_offset(),
            .bytes = storage.bytes(),
            .dtype = result.dtype(),
            .shape = result.shape(),
            .strides = result.strides(),
            .offset = result.storage_offset()};
    entry.bytes += kept.bytes;
  }
  entry.has_results = true;
  bytes_ += entry.bytes;
}

}  // namespace simmesh
