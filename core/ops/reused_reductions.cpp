#include "core/ops/reused_reductions.h"

#include <algorithm>
#include <bit>

#include "core/check/bits_hash.h"

namespace simmesh {

namespace {

// Strided operands share a place in the table: they are rarely reduced.
std::uint64_t place_of(const ComputedReduction& reduction) {
  const Tensor& first = reduction.operands[0];
  return first.is_contiguous() ? bits_hash({first.data(), first.bytes()}) : 0;
}

bool has_bytes(const Tensor& operand) {
  return operand.has_elements() && !operand.distribution() && !operand.storage()->is_freed();
}

}  // namespace

bool ReusedReductions::is_same(const Entry& entry, const ComputedReduction& reduction) {
  return entry.op == reduction.op &&
         entry.factor_bits == std::bit_cast<std::uint64_t>(reduction.factor) &&
         entry.keeps_unrounded == reduction.keeps_unrounded &&
         entry.arithmetic == reduction.arithmetic &&
         std::equal(entry.operands.begin(), entry.operands.end(), reduction.operands.begin(),
                    reduction.operands.end(), [](const KeptOperand& known, const Tensor& now) {
                      return known.has_bits_of(now);
                    });
}

std::optional<Reduced> ReusedReductions::find(const ComputedReduction& reduction) {
  if (!std::all_of(reduction.operands.begin(), reduction.operands.end(), has_bytes)) return {};
  std::uint64_t place = place_of(reduction);
  std::lock_guard lock(mutex_);
  auto [at, end] = entries_.equal_range(place);
  for (; at != end; ++at) {
    if (!is_same(at->second, reduction)) continue;
    ++reused_;
    return at->second.result;
  }
  return {};
}

std::uint64_t ReusedReductions::reused() const {
  std::lock_guard lock(mutex_);
  return reused_;
}

void ReusedReductions::keep(const ComputedReduction& reduction, const Reduced& result) {
  if (!std::all_of(reduction.operands.begin(), reduction.operands.end(), has_bytes)) return;
  Entry entry{.op = reduction.op,
              .factor_bits = std::bit_cast<std::uint64_t>(reduction.factor),
              .arithmetic = reduction.arithmetic,
              .keeps_unrounded = reduction.keeps_unrounded,
              .result = result};
  std::size_t bytes = result.buffer->bytes();
  for (const Tensor& operand : reduction.operands)
    bytes += entry.operands.emplace_back(operand).span();
  std::uint64_t place = place_of(reduction);
  std::lock_guard lock(mutex_);
  if (bytes_ + bytes > bytes_max_) return;
  bytes_ += bytes;
  entries_.emplace(place, std::move(entry));
}

}  // namespace simmesh
