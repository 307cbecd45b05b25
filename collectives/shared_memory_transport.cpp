#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <simmesh/collectives/transport.h>
#include <simmesh/core/check/bits_hash.h>
#include <simmesh/core/check/check.h>
#include <simmesh/core/tensor/chunk.h>
#include <simmesh/core/tensor/stream_copy.h>
#include <simmesh/core/tensor/strided_copy.h>

namespace simmesh {

namespace {

// From this size on, results are hashed piece by piece while they are written and still in the
// cache.
constexpr std::size_t streamed_bytes_min = 256 * 1024;
// From this size on, gathered pieces are hashed where they come from, and written past the cache.
constexpr std::size_t past_cache_bytes_min = 8 * 1024 * 1024;

// What the transport makes meanwhile belongs to no rank: the results are charged when their ranks
// take them.
class Uncharged {
 public:
  Uncharged() : ledger_(Ledger::active()) { Ledger::set_active(nullptr); }
  ~Uncharged() { Ledger::set_active(ledger_); }
  Uncharged(const Uncharged&) = delete;
  Uncharged& operator=(const Uncharged&) = delete;

 private:
  Ledger* ledger_;
};

std::uint64_t hash_of(const Tensor& rows) { return bits_hash({rows.data(), rows.bytes()}); }

// A part that shares the bytes of a tensor.
ResultPart shared_part(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  std::size_t begin = std::size_t(rows.storage_offset()) * bytes_per_element(rows.dtype());
  return {rows.storage()->buffer(), rows.storage()->buffer_offset() + begin, rows.shape(),
          rows.dtype(), hash_of(rows)};
}

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
  std::vector<Tensor> operands(std::size_t index) const {
    std::vector<Tensor> rows;
    rows.reserve(members_);
    for (std::size_t member = 0; member < members_; ++member)
      rows.push_back(operand(member, index));
    return rows;
  }
  BufferPtr new_buffer(std::size_t bytes) {
    context_.copied_bytes += bytes;
    return Buffer::make(bytes, context_.memory);
  }
  void give(std::size_t member, ResultPart part) {
    exchange_.arrival(member).results.push_back(std::move(part));
  }
  void give_all(const ResultPart& part) {
    for (std::size_t member = 0; member < members_; ++member) give(member, part);
  }

  ResultPart reduced(const std::vector<Tensor>& rows, std::int64_t owner);
  void scatter_reduced(std::size_t index);
  ResultPart gathered(const std::vector<Tensor>& rows, std::int64_t dim);
  Chunk rows_to(std::size_t from, std::size_t to) const;
  std::int64_t gathered_rows() const;
  ResultPart rows_for(std::size_t to, std::int64_t gathered);

  Exchange& exchange_;
  const TransportContext& context_;
  const CollectiveCall& first_;
  std::size_t members_;
};

ResultPart Exchanging::reduced(const std::vector<Tensor>& rows, std::int64_t owner) {
  std::vector<const std::byte*> data;
  data.reserve(rows.size());
  for (const Tensor& tensor : rows) data.push_back(tensor.data());
  std::size_t bytes = rows[0].bytes();
  ResultPart part{new_buffer(bytes), 0, rows[0].shape(), rows[0].dtype(), 0};
  bool streams = bytes >= streamed_bytes_min;
  std::optional<BitsHash> hash;
  if (streams) hash.emplace();
  context_.arithmetic.reduce({.op = first_.reduce,
                              .dtype = part.dtype,
                              .factor = first_.factor,
                              .operands = data,
                              .count = rows[0].element_count(),
                              .result = part.buffer->data(),
                              .owner = owner,
                              .hash = streams ? &*hash : nullptr});
  part.hash = streams ? hash->value() : bits_hash({part.buffer->data(), bytes});
  return part;
}

void Exchanging::all_reduce() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) give_all(reduced(operands(i), -1));
}

void Exchanging::reduce() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i)
    give(std::size_t(first_.root), reduced(operands(i), -1));
}

void Exchanging::scatter_reduced(std::size_t index) {
  std::vector<Tensor> rows = operands(index);
  std::int64_t dim = first_.dim;
  auto piece_of = [&](const Tensor& tensor, std::size_t member) {
    Chunk chunk = chunk_of({tensor.size(dim), std::int64_t(members_), std::int64_t(member)});
    return tensor.narrow({dim, chunk.start, chunk.length});
  };
  if (context_.arithmetic.adds_by_owner()) {
    for (std::size_t member = 0; member < members_; ++member) {
      std::vector<Tensor> pieces;
      for (const Tensor& tensor : rows) pieces.push_back(piece_of(tensor, member).contiguous());
      give(member, reduced(pieces, std::int64_t(member)));
    }
    return;
  }
  ResultPart whole = reduced(rows, -1);
  Tensor sum = whole.to_tensor();
  for (std::size_t member = 0; member < members_; ++member)
    give(member, shared_part(piece_of(sum, member)));
}

void Exchanging::reduce_scatter() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) scatter_reduced(i);
}

ResultPart Exchanging::gathered(const std::vector<Tensor>& rows, std::int64_t dim) {
  Shape shape = rows[0].shape();
  std::size_t at = std::size_t(dim);
  shape[at] = 0;
  for (const Tensor& tensor : rows) shape[at] += tensor.shape()[at];
  std::size_t element = bytes_per_element(rows[0].dtype());
  std::size_t bytes = std::size_t(element_count(shape)) * element;
  ResultPart part{new_buffer(bytes), 0, shape, rows[0].dtype(), 0};
  std::size_t outer = 1, inner = element;
  for (std::size_t i = 0; i < at; ++i) outer *= std::size_t(shape[i]);
  for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= std::size_t(shape[i]);
  bool streams = bytes >= streamed_bytes_min;
  std::optional<BitsHash> hash;
  if (streams) hash.emplace();
  constexpr std::size_t block_bytes = 64 * 1024;
  std::byte* to = part.buffer->data();
  for (std::size_t i = 0; i < outer; ++i) {
    for (const Tensor& tensor : rows) {
      std::size_t length = std::size_t(tensor.shape()[at]) * inner;
      const std::byte* from = tensor.data() + i * length;
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
  part.hash = streams ? hash->value() : bits_hash({part.buffer->data(), bytes});
  return part;
}

void Exchanging::all_gather() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i)
    give_all(gathered(operands(i), first_.dim));
}

void Exchanging::all_gather_list() {
  for (std::size_t from = 0; from < members_; ++from) give_all(shared_part(operand(from, 0)));
}

void Exchanging::broadcast() {
  for (const Tensor& input : exchange_.call(std::size_t(first_.root)).inputs)
    give_all(shared_part(input));
}

void Exchanging::scatter() {
  const CollectiveCall& root = exchange_.call(std::size_t(first_.root));
  for (std::size_t member = 0; member < members_; ++member)
    give(member, shared_part(root.inputs[member]));
}

void Exchanging::gather() {
  for (std::size_t from = 0; from < members_; ++from)
    give(std::size_t(first_.root), shared_part(operand(from, 0)));
}

// The rows of dim scatter_dim that one member sends to another.
Chunk Exchanging::rows_to(std::size_t from, std::size_t to) const {
  const CollectiveCall& call = exchange_.call(from);
  std::int64_t size = call.inputs[0].size(call.scatter_dim);
  if (call.input_splits.empty()) return chunk_of({size, std::int64_t(members_), std::int64_t(to)});
  Chunk chunk;
  for (std::size_t j = 0; j < to; ++j) chunk.start += call.input_splits[j];
  chunk.length = call.input_splits[to];
  return chunk;
}

// The rows of all members along the gathered dim.
std::int64_t Exchanging::gathered_rows() const {
  std::int64_t rows = 0;
  for (std::size_t from = 0; from < members_; ++from)
    rows += exchange_.call(from).inputs[0].size(first_.dim);
  return rows;
}

// What one member gets: the rows for it of every other member, side by side along the gathered dim.
// gathered is gathered_rows.
ResultPart Exchanging::rows_for(std::size_t to, std::int64_t gathered) {
  std::size_t dim = std::size_t(first_.dim), cut_dim = std::size_t(first_.scatter_dim);
  Shape shape = first_.inputs[0].shape();
  shape[dim] = dim == cut_dim ? 0 : gathered;
  // Where another dim is gathered and there are no splits, each member cuts the same rows.
  bool cuts_alike = dim != cut_dim && first_.input_splits.empty();
  Chunk rows = rows_to(0, to);
  if (dim != cut_dim) shape[cut_dim] = rows.length;
  for (std::size_t from = 0; dim == cut_dim && from < members_; ++from)
    shape[dim] += rows_to(from, to).length;
  std::size_t element = bytes_per_element(first_.inputs[0].dtype());
  std::size_t bytes = std::size_t(element_count(shape)) * element;
  ResultPart part{new_buffer(bytes), 0, shape, first_.inputs[0].dtype(), 0};
  Strides strides = contiguous_strides(shape);
  std::byte* target = part.buffer->data();
  Shape piece = shape;
  for (std::size_t from = 0; bytes > 0 && from < members_; ++from) {
    const Tensor& input = exchange_.call(from).inputs[0];
    if (!cuts_alike) rows = rows_to(from, to);
    piece[dim] = input.shape()[dim];
    piece[cut_dim] = rows.length;
    std::size_t skipped = std::size_t(rows.start * input.strides()[cut_dim]) * element;
    strided_copy({target, strides}, {input.data() + skipped, input.strides()}, piece, element);
    target += std::size_t(piece[dim] * strides[dim]) * element;
  }
  part.hash = bits_hash({part.buffer->data(), bytes});
  return part;
}

void Exchanging::all_to_all() {
  std::int64_t gathered = gathered_rows();
  for (std::size_t to = 0; to < members_; ++to) give(to, rows_for(to, gathered));
}

void Exchanging::all_to_all_list() {
  for (std::size_t to = 0; to < members_; ++to)
    for (std::size_t from = 0; from < members_; ++from) give(to, shared_part(operand(from, to)));
}

}  // namespace

void SharedMemoryTransport::exchange(Exchange& exchange, const TransportContext& context) const {
  Uncharged uncharged;
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
