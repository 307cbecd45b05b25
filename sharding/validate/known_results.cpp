#include "sharding/validate/known_results.h"

#include <algorithm>
#include <cstring>

#include "core/check/fold_hash.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"

namespace simmesh {

namespace {

std::uint64_t hash_of_bits(const Tensor& tensor) {
  FoldHash hash(std::uint64_t(tensor.dtype()));
  for (std::int64_t size : tensor.shape()) hash.fold(std::uint64_t(size));
  std::size_t bytes = tensor.bytes();
  const std::byte* data = bytes == 0 ? nullptr : tensor.data();
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, bytes - at));
    hash.fold(word);
  }
  return hash.value();
}

bool have_equal_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// True for two views of the same elements.
bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.storage_offset() == b.storage_offset() &&
         a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

bool are_equal(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::uint64_t hash_of_memory(gsl::span<const Tensor> inputs, bool keeps) {
  FoldHash hash(keeps ? 1 : 0);
  for (const Tensor& input : inputs) {
    hash.fold(std::uint64_t(reinterpret_cast<std::uintptr_t>(input.storage().get())));
    if (!input.is_defined()) continue;
    hash.fold(std::uint64_t(input.storage_offset()));
    hash.fold(std::uint64_t(input.numel()));
  }
  return hash.value();
}

}  // namespace

Tensor KnownResults::shared(Tensor piece) {
  if (!piece.is_defined() || !piece.is_contiguous()) return piece;
  std::uint64_t hash = hash_of_bits(piece);
  auto [first, end] = tensors_.equal_range(hash);
  for (auto known = first; known != end; ++known)
    if (have_equal_bits(known->second, piece)) return known->second;
  return tensors_.emplace(hash, std::move(piece))->second;
}

const std::vector<Tensor>& KnownResults::call(const Op& op, gsl::span<const Tensor> inputs,
                                              const Attributes& attributes) {
  bool keeps = keeps_unrounded();
  std::uint64_t hash = hash_of_memory(inputs, keeps);
  auto [first, end] = results_.equal_range(hash);
  for (auto known = first; known != end; ++known) {
    const Result& result = known->second;
    if (result.keeps_unrounded == keeps && are_equal(result.attributes, attributes) &&
        std::equal(inputs.begin(), inputs.end(), result.inputs.begin(), result.inputs.end(),
                   is_same_view))
      return result.outputs;
  }
  std::vector<Tensor> outputs = simmesh::call(op, inputs, attributes);
  ++computed_count_;
  std::vector<Tensor> held(inputs.begin(), inputs.end());
  return results_.emplace(hash, Result{std::move(held), attributes, keeps, std::move(outputs)})
      ->second.outputs;
}

}  // namespace simmesh
