#include "sharding/validate/known_results.h"

#include <algorithm>
#include <cstring>

#include "core/check/fold_hash.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "sharding/validate/joined_pieces.h"

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

bool are_equal(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::uint64_t hash_of_memory(const KnownResults::Operands& operands, std::uint64_t seed) {
  FoldHash hash(seed);
  for (const Tensor* operand : operands) {
    if (!operand || !operand->is_defined()) {
      hash.fold(0);
      continue;
    }
    hash.fold(std::uint64_t(reinterpret_cast<std::uintptr_t>(operand->storage().get())));
    hash.fold(std::uint64_t(operand->storage_offset() * 31 + operand->numel()));
  }
  return hash.value();
}

KnownResults::Operands operands_of(gsl::span<const Tensor> tensors) {
  KnownResults::Operands operands;
  for (const Tensor& tensor : tensors) operands.push_back(&tensor);
  return operands;
}

const Tensor& tensor_or_none(const Tensor* tensor) {
  static const Tensor none;
  return tensor ? *tensor : none;
}

bool are_held(gsl::span<const Tensor> held, const KnownResults::Operands& operands) {
  return std::equal(
      held.begin(), held.end(), operands.begin(), operands.end(),
      [](const Tensor& a, const Tensor* b) { return is_one_view(a, tensor_or_none(b)); });
}

}  // namespace

bool is_one_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.storage_offset() == b.storage_offset() &&
         a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

Tensor KnownResults::shared(Tensor piece) {
  if (!piece.is_defined() || !piece.is_contiguous()) return piece;
  std::uint64_t hash = hash_of_bits(piece);
  auto [first, end] = tensors_.equal_range(hash);
  for (auto known = first; known != end; ++known)
    if (have_equal_bits(known->second, piece)) return known->second;
  return tensors_.emplace(hash, std::move(piece))->second;
}

SharedOutputs KnownResults::call(const Op& op, const Operands& inputs,
                                 const Attributes& attributes) {
  bool keeps = keeps_unrounded();
  std::uint64_t hash = hash_of_memory(inputs, keeps ? 1 : 0);
  auto [first, end] = results_.equal_range(hash);
  for (auto known = first; known != end; ++known) {
    const Result& result = known->second;
    if (result.keeps_unrounded == keeps && are_held(result.inputs, inputs) &&
        are_equal(result.attributes, attributes))
      return result.outputs;
  }
  HeldTensors held;
  for (const Tensor* input : inputs) held.push_back(tensor_or_none(input));
  std::vector<Tensor> outputs =
      simmesh::call(op, gsl::span<const Tensor>(held.data(), held.size()), attributes);
  ++computed_count_;
  return results_
      .emplace(hash, Result{std::move(held), attributes, keeps, SharedOutputs(std::move(outputs))})
      ->second.outputs;
}

SharedOutputs KnownResults::call(const Op& op, gsl::span<const Tensor> inputs,
                                 const Attributes& attributes) {
  return call(op, operands_of(inputs), attributes);
}

const Tensor& KnownResults::reduced(gsl::span<const Tensor> pieces, ReduceOp op) {
  bool keeps = keeps_unrounded();
  Operands operands = operands_of(pieces);
  std::uint64_t hash = hash_of_memory(operands, std::uint64_t(op) * 2 + (keeps ? 1 : 0));
  auto [first, end] = reductions_.equal_range(hash);
  for (auto known = first; known != end; ++known) {
    const Reduction& reduction = known->second;
    if (reduction.keeps_unrounded == keeps && reduction.op == op &&
        are_held(reduction.pieces, operands))
      return reduction.total;
  }
  ++reduced_count_;
  HeldTensors held(pieces.begin(), pieces.end());
  return reductions_
      .emplace(hash, Reduction{std::move(held), op, keeps, reduced_pieces(pieces, op)})
      ->second.total;
}

}  // namespace simmesh
