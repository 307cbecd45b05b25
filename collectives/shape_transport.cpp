#include <algorithm>

#include "collectives/transport.h"
#include "core/check/error.h"
#include "core/tensor/chunk.h"

namespace simmesh {

namespace {

ResultPart part_of(Shape shape, DType dtype) {
  FoldHash hash;
  for (std::int64_t size : shape) hash.fold(std::uint64_t(size));
  return {.shape = std::move(shape), .dtype = dtype, .hash = hash.value()};
}

ResultPart part_like(const Tensor& tensor) { return part_of(tensor.shape(), tensor.dtype()); }

// ExchangeOfShapes gives each member of a collective the shapes of its results.
class ExchangeOfShapes {
 public:
  explicit ExchangeOfShapes(Exchange& exchange)
      : exchange_(exchange), first_(exchange.call(0)), members_(exchange.members()) {}

  // check_fold raises where shapes depend on members that aren't run.
  void check_fold() const;
  void all_alike();
  void to_root();
  void reduce_scatter();
  void all_gather();
  void lists_from_all();
  void scatter();
  void gather();
  void all_to_all();
  void all_to_all_list();

 private:
  // True if all pieces have one size. By the chunk rule no piece is larger than the one before, so
  // the first and the last tell.
  bool all_pieces_are_equal() const {
    return exchange_.is_run(0) && exchange_.is_run(members_ - 1) &&
           first_.inputs[0].shape() == exchange_.call(members_ - 1).inputs[0].shape();
  }
  // True if each member that runs sends pieces of one size, and gets pieces of that size.
  bool all_splits_are_equal() const {
    std::int64_t size = first_.input_splits.front();
    auto is_it = [size](std::int64_t split) { return split == size; };
    for (std::size_t member = 0; member < members_; ++member) {
      const CollectiveCall& call = exchange_.call(member);
      if (!std::all_of(call.input_splits.begin(), call.input_splits.end(), is_it)) return false;
      if (!std::all_of(call.output_splits.begin(), call.output_splits.end(), is_it)) return false;
    }
    return true;
  }
  // Returns the size of the member's chunk.
  std::int64_t cut(std::int64_t size, std::size_t index) const {
    return chunk_of({size, std::int64_t(members_), std::int64_t(index)}).length;
  }
  std::int64_t rows_between(std::size_t from, std::size_t to) const;

  Exchange& exchange_;
  const CollectiveCall& first_;
  std::size_t members_;
};

void ExchangeOfShapes::check_fold() const {
  if (exchange_.all_run()) return;
  auto root = std::size_t(first_.root);
  const CollectiveFacts& facts = facts_of(first_.op);
  bool has_splits = !first_.input_splits.empty();
  bool has_unknown_pieces =
      first_.uneven && !has_splits && facts.concatenates && !all_pieces_are_equal();
  bool root_is_missing =
      facts.operands == CollectiveOperands::of_root_alone && !exchange_.is_run(root);
  bool has_unknown_splits = has_splits && !all_splits_are_equal();
  if (!has_unknown_pieces && !has_unknown_splits && !root_is_missing) return;
  raise(ErrorKind::runtime_error, "collectives/shape_transport",
        "{} of group {}: expected a collective whose shapes are known without the ranks that this "
        "folded world doesn't run, got uneven pieces, unequal splits, or a root that isn't run",
        to_string(first_), exchange_.group());
}

void ExchangeOfShapes::all_alike() {
  auto root = std::size_t(first_.root);
  for (const Tensor& input : exchange_.call(root).inputs) exchange_.give_all(part_like(input));
}

void ExchangeOfShapes::to_root() {
  for (const Tensor& input : first_.inputs)
    exchange_.give(std::size_t(first_.root), part_like(input));
}

void ExchangeOfShapes::reduce_scatter() {
  for (const Tensor& input : first_.inputs) {
    for (std::size_t member = 0; member < members_; ++member) {
      Shape shape = input.shape();
      shape[std::size_t(first_.dim)] = cut(input.size(first_.dim), member);
      exchange_.give(member, part_of(shape, input.dtype()));
    }
  }
}

void ExchangeOfShapes::all_gather() {
  for (std::size_t i = 0; i < first_.inputs.size(); ++i) {
    Shape shape = first_.inputs[i].shape();
    std::int64_t& size = shape[std::size_t(first_.dim)] = 0;
    for (std::size_t member = 0; member < members_; ++member)
      size += exchange_.call(member).inputs[i].size(first_.dim);
    exchange_.give_all(part_of(shape, first_.inputs[i].dtype()));
  }
}

void ExchangeOfShapes::lists_from_all() {
  for (std::size_t from = 0; from < members_; ++from)
    exchange_.give_all(part_like(exchange_.call(from).inputs[0]));
}

void ExchangeOfShapes::scatter() {
  const CollectiveCall& root = exchange_.call(std::size_t(first_.root));
  for (std::size_t member = 0; member < members_; ++member)
    exchange_.give(member, part_like(root.inputs[member]));
}

void ExchangeOfShapes::gather() {
  for (std::size_t from = 0; from < members_; ++from)
    exchange_.give(std::size_t(first_.root), part_like(exchange_.call(from).inputs[0]));
}

std::int64_t ExchangeOfShapes::rows_between(std::size_t from, std::size_t to) const {
  const CollectiveCall& call = exchange_.call(from);
  if (!call.input_splits.empty()) return call.input_splits[to];
  return cut(call.inputs[0].size(call.scatter_dim), to);
}

void ExchangeOfShapes::all_to_all() {
  std::size_t dim = std::size_t(first_.dim), cut_dim = std::size_t(first_.scatter_dim);
  for (std::size_t to = 0; to < members_; ++to) {
    Shape shape = first_.inputs[0].shape();
    shape[dim] = 0;
    if (dim != cut_dim) shape[cut_dim] = rows_between(0, to);
    for (std::size_t from = 0; from < members_; ++from)
      shape[dim] +=
          dim == cut_dim ? rows_between(from, to) : exchange_.call(from).inputs[0].size(first_.dim);
    exchange_.give(to, part_of(shape, first_.inputs[0].dtype()));
  }
}

void ExchangeOfShapes::all_to_all_list() {
  for (std::size_t to = 0; to < members_; ++to)
    for (std::size_t from = 0; from < members_; ++from)
      exchange_.give(to, part_like(exchange_.call(from).inputs[to]));
}

}  // namespace

void ShapeTransport::exchange(Exchange& exchange, const TransportContext&) const {
  ExchangeOfShapes shapes(exchange);
  shapes.check_fold();
  switch (exchange.call(0).op) {
    case CollectiveOp::barrier: return;
    case CollectiveOp::all_reduce:
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object: return shapes.all_alike();
    case CollectiveOp::reduce: return shapes.to_root();
    case CollectiveOp::reduce_scatter: return shapes.reduce_scatter();
    case CollectiveOp::all_gather: return shapes.all_gather();
    case CollectiveOp::all_gather_list: return shapes.lists_from_all();
    case CollectiveOp::scatter: return shapes.scatter();
    case CollectiveOp::gather: return shapes.gather();
    case CollectiveOp::all_to_all: return shapes.all_to_all();
    case CollectiveOp::all_to_all_list: return shapes.all_to_all_list();
  }
}

}  // namespace simmesh
