#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "collectives/transport.h"
#include "core/arithmetic/compute.h"
#include "core/arithmetic/unrounded.h"
#include "core/check/check.h"
#include "core/clock/clock.h"
#include "core/memory/ledger.h"
#include "core/ops/reused_reductions.h"
#include "core/tensor/chunk.h"
#include "core/tensor/elements_hash.h"
#include "core/tensor/stream_copy.h"
#include "core/tensor/strided_copy.h"

namespace simmesh {

namespace {

// From this size on, results are hashed piece by piece while they are written and still in the
// cache.
constexpr std::size_t streamed_bytes_min = 256 * 1024;

// Operands has the addresses of the members' operands of one index, made row-major, in group order.
class Operands {
 public:
  Operands(const Exchange& exchange, std::size_t index) {
    data_.reserve(exchange.members());
    for (std::size_t member = 0; member < exchange.members(); ++member) {
      const std::byte* begin = index == 0 ? exchange.operand_data(member) : nullptr;
      data_.push_back(begin ? begin : row_major(exchange.call(member).inputs[index]));
    }
  }

  gsl::span<const std::byte* const> data() const { return data_; }

 private:
  const std::byte* row_major(const Tensor& input) {
    if (input.is_contiguous()) return input.data();
    copies_.push_back(input.contiguous());
    return copies_.back().data();
  }

  std::vector<const std::byte*> data_;
  std::vector<Tensor> copies_;
};

class Exchanging {
 public:
  Exchanging(Exchange& exchange, const TransportContext& context)
      : exchange_(exchange),
        context_(context),
        first_(exchange.call(0)),
        members_(exchange.members()) {}

  void all_reduce();
  void reduce();
  void reduce_scatter();
  void all_gather();
  void all_gather_list();
  void broadcast();
  void scatter();
  void gather();
  void all_to_all();
  void all_to_all_list();

 private:
  Tensor operand(std::size_t member, std::size_t index) const {
    return exchange_.call(member).inputs[index].contiguous();
  }
  BufferPtr new_buffer(std::size_t bytes) {
    context_.copied_bytes += bytes;
    return Buffer::make(bytes, context_.memory);
  }
  void give(std::size_t member, ResultPart part) { exchange_.give(member, std::move(part)); }
  void give_all(ResultPart part) { exchange_.give_all(std::move(part)); }

  ResultPart reduced(gsl::span<const std::byte* const> operands, const Tensor& like,
                     std::int64_t owner);
  ResultPart reduced(std::size_t index);
  ResultPart computed(std::size_t index);
  bool keeps_unrounded() const;
  std::vector<Tensor> unrounded_inputs(std::size_t index) const;
  ResultPart reduced_unrounded(gsl::span<const Tensor> inputs);
  void scatter_reduced(std::size_t index);
  ResultPart gathered(std::size_t index);
  template <class F>
  void share_unrounded_pieces(ResultPart& part, F&& piece_of);
  struct Cuts {
    bool alike = false;              // each member's operand has the same shape and strides
    std::int64_t gathered_rows = 0;  // of all members
  };
  Cuts cuts() const;
  ResultPart rows_for(std::size_t to, const Cuts& cuts);
  void gather_rows(std::size_t to, const Cuts& cuts, ResultPart& part);

  Exchange& exchange_;
  const TransportContext& context_;
  const CollectiveCall& first_;
  std::size_t members_;
};

// Returns the reduction of operands that have the shape and the dtype of `like`.
ResultPart Exchanging::reduced(gsl::span<const std::byte* const> operands, const Tensor& like,
                               std::int64_t owner) {
  std::size_t bytes = like.bytes();
  ResultPart part{new_buffer(bytes), 0, like.shape(), like.dtype(), 0};
  bool streams = bytes >= streamed_bytes_min;
  std::optional<ElementsHash> hash;
  if (streams) hash.emplace(part.dtype);
  compute(context_.arithmetic, Reduction{.op = first_.reduce,
                                         .dtype = part.dtype,
                                         .factor = first_.factor,
                                         .operands = operands,
                                         .count = like.numel(),
                                         .result = part.buffer->data(),
                                         .owner = owner,
                                         .hash = streams ? &*hash : nullptr});
  part.hash = streams ? hash->value() : elements_hash({part.buffer->data(), bytes}, part.dtype);
  return part;
}

// Returns the reduction of the members' operands of one index. A program that is run many times
// makes each reduction once.
ResultPart Exchanging::reduced(std::size_t index) {
  ReusedReductions* known = ReusedReductions::active();
  if (!known) return computed(index);
  std::vector<Tensor> operands;
  for (std::size_t member = 0; member < members_; ++member)
    operands.push_back(exchange_.call(member).inputs[index]);
  ComputedReduction reduction{.op = first_.reduce,
                              .factor = first_.factor,
                              .arithmetic = context_.arithmetic,
                              .keeps_unrounded = keeps_unrounded(),
                              .operands = operands};
  if (std::optional<Reduced> found = known->find(reduction)) {
    context_.copied_bytes += operands[0].bytes();
    return {found->buffer, found->begin, found->shape, found->dtype, found->hash};
  }
  ResultPart part = computed(index);
  known->keep(reduction, {part.buffer, part.offset, part.shape, part.dtype, part.hash});
  return part;
}

ResultPart Exchanging::computed(std::size_t index) {
  std::vector<Tensor> inputs = unrounded_inputs(index);
  if (!inputs.empty()) return reduced_unrounded(inputs);
  return reduced(Operands(exchange_, index).data(), first_.inputs[index], -1);
}

bool Exchanging::keeps_unrounded() const {
  for (std::size_t member = 0; member < members_; ++member)
    if (exchange_.call(member).keeps_unrounded) return true;
  return false;
}

// Returns the members' operands if unrounded sums count: an operand has them, or the result keeps
// them. Returns none otherwise.
std::vector<Tensor> Exchanging::unrounded_inputs(std::size_t index) const {
  bool adds = first_.reduce == ReduceOp::sum || first_.reduce == ReduceOp::avg ||
              first_.reduce == ReduceOp::premul_sum;
  if (!adds || !context_.arithmetic.is_exact() || !is_floating_point(first_.inputs[index].dtype()))
    return {};
  bool counts = keeps_unrounded();
  std::vector<Tensor> inputs;
  for (std::size_t member = 0; member < members_; ++member) {
    inputs.push_back(exchange_.call(member).inputs[index]);
    counts = counts || is_unrounded(inputs.back());
  }
  return counts ? inputs : std::vector<Tensor>();
}

ResultPart Exchanging::reduced_unrounded(gsl::span<const Tensor> inputs) {
  std::size_t bytes = inputs[0].bytes();
  Tensor result(Storage::share(new_buffer(bytes), 0, bytes), inputs[0].dtype(), inputs[0].shape());
  reduce_unrounded({.op = first_.reduce, .factor = first_.factor, .operands = inputs}, result,
                   keeps_unrounded());
  return ResultPart::of(result);
}

void Exchanging::all_reduce() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) give_all(reduced(i));
}

void Exchanging::reduce() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) give(std::size_t(first_.root), reduced(i));
}

void Exchanging::scatter_reduced(std::size_t index) {
  std::int64_t dim = first_.dim;
  auto piece_of = [&](const Tensor& tensor, std::size_t member) {
    Chunk chunk = chunk_of({tensor.size(dim), std::int64_t(members_), std::int64_t(member)});
    return tensor.narrow({dim, chunk.start, chunk.length});
  };
  if (adds_by_owner(context_.arithmetic)) {
    for (std::size_t member = 0; member < members_; ++member) {
      std::vector<Tensor> pieces;
      std::vector<const std::byte*> data;
      for (std::size_t from = 0; from < members_; ++from) {
        pieces.push_back(piece_of(exchange_.call(from).inputs[index], member).contiguous());
        data.push_back(pieces.back().data());
      }
      give(member, reduced(data, pieces[0], std::int64_t(member)));
    }
    return;
  }
  ResultPart whole = reduced(index);
  Tensor sum = whole.to_tensor();
  for (std::size_t member = 0; member < members_; ++member)
    give(member, ResultPart::of(piece_of(sum, member)));
}

void Exchanging::reduce_scatter() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) scatter_reduced(i);
}

ResultPart Exchanging::gathered(std::size_t index) {
  Operands operands(exchange_, index);
  DType dtype = first_.inputs[index].dtype();
  Shape shape = first_.inputs[index].shape();
  std::size_t at = std::size_t(first_.dim);
  auto size_of = [&](std::size_t member) {
    return exchange_.call(member).inputs[index].shape()[at];
  };
  shape[at] = 0;
  for (std::size_t member = 0; member < members_; ++member) shape[at] += size_of(member);
  std::size_t element = bytes_per_element(dtype);
  std::size_t bytes = std::size_t(numel(shape)) * element;
  ResultPart part{new_buffer(bytes), 0, shape, dtype, 0};
  std::size_t outer = 1, inner = element;
  for (std::size_t i = 0; i < at; ++i) outer *= std::size_t(shape[i]);
  for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= std::size_t(shape[i]);
  bool streams = bytes >= streamed_bytes_min;
  std::optional<ElementsHash> hash;
  if (streams) hash.emplace(part.dtype);
  constexpr std::size_t block_bytes = 64 * 1024;
  std::byte* to = part.buffer->data();
  for (std::size_t i = 0; i < outer; ++i) {
    for (std::size_t member = 0; member < members_; ++member) {
      std::size_t length = std::size_t(size_of(member)) * inner;
      const std::byte* from = operands.data()[member] + i * length;
      for (std::size_t done = 0; done < length; done += block_bytes) {
        std::size_t block = std::min(block_bytes, length - done);
        if (streams) hash->update({from + done, block});
        if (bytes >= past_cache_bytes_min)
          stream_copy(to, {from + done, block});
        else
          std::memcpy(to, from + done, block);
        to += block;
      }
    }
  }
  part.hash = streams ? hash->value() : elements_hash({part.buffer->data(), bytes}, part.dtype);
  share_unrounded_pieces(part,
                         [&](std::size_t member) { return exchange_.call(member).inputs[index]; });
  return part;
}

// Joins the unrounded sums of the members' pieces along the dim, as the pieces are joined.
template <class F>
void Exchanging::share_unrounded_pieces(ResultPart& part, F&& piece_of) {
  if (!context_.arithmetic.is_exact() || !is_floating_point(part.dtype)) return;
  std::int64_t start = 0;
  for (std::size_t member = 0; member < members_; ++member) {
    Tensor piece = piece_of(member);
    std::int64_t length = piece.size(first_.dim);
    if (is_unrounded(piece))
      share_unrounded(part.to_tensor().narrow({first_.dim, start, length}), piece);
    start += length;
  }
}

void Exchanging::all_gather() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) give_all(gathered(i));
}

void Exchanging::all_gather_list() {
  for (std::size_t from = 0; from < members_; ++from) give_all(ResultPart::of(operand(from, 0)));
}

void Exchanging::broadcast() {
  for (const Tensor& input : exchange_.call(std::size_t(first_.root)).inputs)
    give_all(ResultPart::of(input));
}

void Exchanging::scatter() {
  const CollectiveCall& root = exchange_.call(std::size_t(first_.root));
  for (std::size_t member = 0; member < members_; ++member)
    give(member, ResultPart::of(root.inputs[member]));
}

void Exchanging::gather() {
  for (std::size_t from = 0; from < members_; ++from)
    give(std::size_t(first_.root), ResultPart::of(operand(from, 0)));
}

// Returns the cuts of the members' operands of an all-to-all.
Exchanging::Cuts Exchanging::cuts() const {
  Cuts cuts{.alike = first_.dim != first_.scatter_dim && first_.input_splits.empty()};
  std::int64_t first_rows = first_.inputs[0].size(first_.dim);
  for (std::size_t from = 0; from < members_; ++from) {
    std::int64_t rows = exchange_.call(from).inputs[0].size(first_.dim);
    cuts.gathered_rows += rows;
    cuts.alike &= rows == first_rows && exchange_.operand_data(from) != nullptr;
  }
  return cuts;
}

// Returns the result of one member: the rows for it from every member, along the gathered dim.
ResultPart Exchanging::rows_for(std::size_t to, const Cuts& cuts) {
  std::size_t dim = std::size_t(first_.dim), cut_dim = std::size_t(first_.scatter_dim);
  Shape shape = first_.inputs[0].shape();
  shape[dim] = dim == cut_dim ? 0 : cuts.gathered_rows;
  Chunk rows = exchange_.rows_between(0, to);
  if (dim != cut_dim) shape[cut_dim] = rows.length;
  for (std::size_t from = 0; dim == cut_dim && from < members_; ++from)
    shape[dim] += exchange_.rows_between(from, to).length;
  std::size_t element = bytes_per_element(first_.inputs[0].dtype());
  std::size_t bytes = std::size_t(numel(shape)) * element;
  ResultPart part{new_buffer(bytes), 0, shape, first_.inputs[0].dtype(), 0};
  if (bytes > 0) gather_rows(to, cuts, part);
  share_unrounded_pieces(part, [&](std::size_t from) {
    Chunk sent = exchange_.rows_between(from, to);
    return exchange_.call(from).inputs[0].narrow({first_.scatter_dim, sent.start, sent.length});
  });
  part.hash = elements_hash({part.buffer->data(), bytes}, part.dtype);
  return part;
}

void Exchanging::gather_rows(std::size_t to, const Cuts& cuts, ResultPart& part) {
  std::size_t dim = std::size_t(first_.dim), cut_dim = std::size_t(first_.scatter_dim);
  std::size_t element = bytes_per_element(part.dtype);
  Strides strides = contiguous_strides(part.shape);
  Shape piece = part.shape;
  std::optional<StridedCopy> copy;
  std::size_t skipped = 0, piece_bytes = 0;
  std::byte* target = part.buffer->data();
  for (std::size_t from = 0; from < members_; ++from) {
    if (from == 0 || !cuts.alike) {
      const Tensor& input = exchange_.call(from).inputs[0];
      Chunk rows = exchange_.rows_between(from, to);
      piece[dim] = input.shape()[dim];
      piece[cut_dim] = rows.length;
      skipped = std::size_t(rows.start * input.strides()[cut_dim]) * element;
      piece_bytes = std::size_t(piece[dim] * strides[dim]) * element;
      copy.emplace(strides, input.strides(), piece, element);
    }
    const std::byte* source = exchange_.operand_data(from);
    (*copy)(target, (source ? source : exchange_.call(from).inputs[0].data()) + skipped);
    target += piece_bytes;
  }
}

void Exchanging::all_to_all() {
  Cuts all = cuts();
  for (std::size_t to = 0; to < members_; ++to) give(to, rows_for(to, all));
}

void Exchanging::all_to_all_list() {
  for (std::size_t to = 0; to < members_; ++to)
    for (std::size_t from = 0; from < members_; ++from) give(to, ResultPart::of(operand(from, to)));
}

}  // namespace

void SharedMemoryTransport::exchange(Exchange& exchange, const TransportContext& context) const {
  // Results are charged when their ranks take them. Copies are a part of the collective's own
  // launch.
  Ledger::Uncharged scope;
  Clock::Quiet no_copies;
  Exchanging work(exchange, context);
  switch (exchange.call(0).op) {
    case CollectiveOp::barrier: return;
    case CollectiveOp::all_reduce: return work.all_reduce();
    case CollectiveOp::reduce: return work.reduce();
    case CollectiveOp::reduce_scatter: return work.reduce_scatter();
    case CollectiveOp::all_gather: return work.all_gather();
    case CollectiveOp::all_gather_list: return work.all_gather_list();
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object: return work.broadcast();
    case CollectiveOp::scatter: return work.scatter();
    case CollectiveOp::gather: return work.gather();
    case CollectiveOp::all_to_all: return work.all_to_all();
    case CollectiveOp::all_to_all_list: return work.all_to_all_list();
  }
}

}  // namespace simmesh
