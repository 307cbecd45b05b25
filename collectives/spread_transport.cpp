#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/spread/spread_pieces.h"
#include "collectives/transport.h"
#include "core/arithmetic/compute.h"
#include "core/arithmetic/unrounded.h"
#include "core/check/check.h"
#include "core/clock/clock.h"
#include "core/engine/run/run.h"
#include "core/memory/data_mode.h"
#include "core/memory/ledger.h"
#include "core/tensor/chunk.h"

namespace simmesh {

namespace {

// Operands of up to so many bytes in all are given to every process at once: one message each way
// takes less time than two.
constexpr std::size_t small_bytes_max = 64 * 1024;

// SpreadExchanging gives the members that this process owns their results.
class SpreadExchanging {
 public:
  SpreadExchanging(SpreadRun& spread, Exchange& exchange, const TransportContext& context)
      : spread_(spread),
        exchange_(exchange),
        context_(context),
        first_(exchange.call(0)),
        members_(exchange.members()) {
    for (std::size_t member = 0; member < members_; ++member) {
      owners_.push_back(spread.owner(exchange.membership().rank_of(member)));
      if (std::find(taking_part_.begin(), taking_part_.end(), owners_.back()) == taking_part_.end())
        taking_part_.push_back(owners_.back());
    }
    std::sort(taking_part_.begin(), taking_part_.end());
  }

  // Processes that take part: those that own a member, ascending.
  const std::vector<int>& taking_part() const { return taking_part_; }
  bool takes_part() const { return is_among(taking_part_); }

  void reduce_to(const std::vector<int>& receivers);
  void reduce_scatter();
  void gather_to(const std::vector<int>& receivers);
  void broadcast();
  void scatter();
  void all_to_all();
  void all_to_all_list();

 private:
  using Inputs = std::vector<std::vector<Tensor>>;

  const char* name() const { return name_of(first_.op); }
  bool owns(std::size_t member) const { return owners_[member] == spread_.process(); }
  bool is_among(const std::vector<int>& processes) const {
    return std::find(processes.begin(), processes.end(), spread_.process()) != processes.end();
  }
  // Adds a piece of an operand. `cut` makes it of the whole operand, which only the owner has.
  template <class Cut>
  void add(std::vector<Piece>& pieces, std::size_t from, int to, std::size_t index, Shape shape,
           const Cut& cut) const {
    const Tensor& whole = exchange_.call(from).inputs[index];
    pieces.push_back(
        {owners_[from], to, whole.dtype(), std::move(shape), owns(from) ? cut(whole) : Tensor()});
  }
  void add_whole(std::vector<Piece>& pieces, std::size_t from, int to, std::size_t index) const {
    add(pieces, from, to, index, exchange_.call(from).inputs[index].shape(),
        [](const Tensor& whole) { return whole; });
  }

  std::vector<ResultPart> computed(const CollectiveCall& like, const Inputs& inputs,
                                   std::size_t member = 0) const;
  bool place_counts() const;
  bool is_small() const;
  // A gather gives the operands on as they are, all else computes by them.
  PieceUse use_of_whole() const {
    bool gives_on = first_.op == CollectiveOp::gather || first_.op == CollectiveOp::all_gather_list;
    return gives_on ? PieceUse::results : PieceUse::operands;
  }
  Inputs whole_inputs(const std::vector<int>& receivers) const;
  void scatter_whole_sums();
  void scatter_sums_of_pieces();
  void reduce_in_ranges(const std::vector<int>& receivers);
  Tensor sum_of_pieces(const std::vector<Tensor>& pieces, std::size_t owner) const;
  void give_to_all_or_root(const std::vector<ResultPart>& parts);
  void give(std::size_t member, ResultPart part) {
    exchange_.arrival(member).results.push_back(std::move(part));
  }
  void forget_shapes(std::size_t member) { exchange_.arrival(member).results.clear(); }

  SpreadRun& spread_;
  Exchange& exchange_;
  const TransportContext& context_;
  const CollectiveCall& first_;
  std::size_t members_;
  std::vector<int> owners_;
  std::vector<int> taking_part_;
};

// Runs a collective of the members in this process, on operands that are all here, and returns the
// results of one of them.
std::vector<ResultPart> SpreadExchanging::computed(const CollectiveCall& like, const Inputs& inputs,
                                                   std::size_t member) const {
  Exchange local(exchange_.membership());
  local.start(0);
  std::vector<CollectiveCall> calls(members_, like);
  std::vector<Arrival> arrivals(members_);
  for (std::size_t i = 0; i < members_; ++i) {
    calls[i].inputs = inputs[i];
    arrivals[i].call = &calls[i];
    arrivals[i].rank = exchange_.arrival(i).rank;
    local.arrive(i, arrivals[i]);
  }
  std::uint64_t copied_bytes = 0;
  SharedMemoryTransport().exchange(
      local,
      {.arithmetic = context_.arithmetic, .memory = context_.memory, .copied_bytes = copied_bytes});
  if (auto shared = local.take_shared()) return {shared->parts.begin(), shared->parts.end()};
  const ResultParts& parts = local.arrival(member).results;
  return {parts.begin(), parts.end()};
}

// True in orders of additions that depend on where in the operand an element is.
bool SpreadExchanging::place_counts() const {
  Arithmetic::Mode mode = context_.arithmetic.mode();
  return mode == Arithmetic::Mode::as_nccl_ring || mode == Arithmetic::Mode::as_nccl_tree ||
         mode == Arithmetic::Mode::as_gloo_ring;
}

bool SpreadExchanging::is_small() const {
  std::size_t bytes = 0;
  for (const Tensor& input : first_.inputs) bytes += input.bytes();
  return bytes * members_ <= small_bytes_max;
}

void SpreadExchanging::give_to_all_or_root(const std::vector<ResultPart>& parts) {
  if (first_.op != CollectiveOp::reduce && first_.op != CollectiveOp::gather) {
    exchange_.take_shared();
    for (const ResultPart& part : parts) exchange_.give_all(part);
    return;
  }
  auto root = std::size_t(first_.root);
  forget_shapes(root);
  for (const ResultPart& part : parts) give(root, part);
}

// Gives the whole operands of all members to the receivers. Returns them there, and nothing
// elsewhere.
SpreadExchanging::Inputs SpreadExchanging::whole_inputs(const std::vector<int>& receivers) const {
  std::vector<Piece> pieces;
  for (int to : receivers)
    for (std::size_t from = 0; from < members_; ++from)
      for (std::size_t i = 0; i < exchange_.call(from).inputs.size(); ++i)
        add_whole(pieces, from, to, i);
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, use_of_whole());
  Inputs inputs(members_);
  std::size_t at = 0;
  for (int to : receivers)
    for (std::size_t from = 0; from < members_; ++from)
      for (std::size_t i = 0; i < exchange_.call(from).inputs.size(); ++i, ++at)
        if (to == spread_.process()) inputs[from].push_back(tensors[at]);
  return inputs;
}

void SpreadExchanging::gather_to(const std::vector<int>& receivers) {
  Inputs inputs = whole_inputs(receivers);
  if (is_among(receivers)) give_to_all_or_root(computed(first_, inputs, std::size_t(first_.root)));
}

// Few bytes, and those whose place counts, go as a whole: the receivers compute the results.
void SpreadExchanging::reduce_to(const std::vector<int>& receivers) {
  if (place_counts() || is_small())
    gather_to(receivers);
  else
    reduce_in_ranges(receivers);
}

// Each process reduces one range of the elements and gives the result to the receivers.
void SpreadExchanging::reduce_in_ranges(const std::vector<int>& receivers) {
  auto ranges = std::int64_t(taking_part_.size());
  auto range_of = [&](const Tensor& input, std::int64_t i) {
    return chunk_of({input.numel(), ranges, i});
  };
  std::size_t own =
      std::size_t(std::find(taking_part_.begin(), taking_part_.end(), spread_.process()) -
                  taking_part_.begin());
  std::vector<Piece> pieces;
  std::size_t count = first_.inputs.size();
  for (std::size_t i = 0; i < count; ++i)
    for (std::int64_t range = 0; range < ranges; ++range)
      for (std::size_t from = 0; from < members_; ++from) {
        Chunk chunk = range_of(first_.inputs[i], range);
        add(pieces, from, taking_part_[std::size_t(range)], i, {chunk.length},
            [&](const Tensor& whole) {
              return whole.contiguous()
                  .view(Dims{whole.numel()})
                  .narrow({0, chunk.start, chunk.length});
            });
      }
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::operands);
  Inputs operands(members_);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_defined()) operands[i % members_].push_back(tensors[i]);
  CollectiveCall all_reduce = first_;
  all_reduce.op = CollectiveOp::all_reduce;
  std::vector<ResultPart> reduced = computed(all_reduce, operands);
  std::vector<Piece> results;
  for (int to : receivers)
    for (std::int64_t range = 0; range < ranges; ++range)
      for (std::size_t i = 0; i < count; ++i) {
        bool is_own = std::size_t(range) == own;
        results.push_back({taking_part_[std::size_t(range)],
                           to,
                           first_.inputs[i].dtype(),
                           {range_of(first_.inputs[i], range).length},
                           is_own ? reduced[i].to_tensor() : Tensor()});
      }
  std::vector<Tensor> sums = exchange_pieces(spread_, name(), results, PieceUse::results);
  if (!is_among(receivers)) return;
  Inputs cut(members_);
  for (std::size_t member = 0; member < members_; ++member)
    for (std::size_t i = 0; i < count; ++i)
      if (std::int64_t(member) >= ranges)
        cut[member].push_back(empty({0}, first_.inputs[i].dtype()));
  std::size_t at = 0;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i].is_defined()) cut[at++ / count].push_back(sums[i]);
  CollectiveCall join{.op = CollectiveOp::all_gather, .uneven = true, .site = first_.site};
  std::vector<ResultPart> whole = computed(join, cut);
  for (std::size_t i = 0; i < count; ++i) whole[i].shape = first_.inputs[i].shape();
  give_to_all_or_root(whole);
}

// Returns the sum of the pieces of a reduce-scatter that one member keeps.
Tensor SpreadExchanging::sum_of_pieces(const std::vector<Tensor>& pieces, std::size_t owner) const {
  if (!adds_by_owner(context_.arithmetic)) {
    CollectiveCall all_reduce = first_;
    all_reduce.op = CollectiveOp::all_reduce;
    Inputs inputs;
    for (const Tensor& piece : pieces) inputs.push_back({piece});
    return computed(all_reduce, inputs).front().to_tensor();
  }
  std::vector<Tensor> rows;
  std::vector<const std::byte*> operands;
  for (const Tensor& piece : pieces) {
    rows.push_back(piece.contiguous());
    operands.push_back(rows.back().data());
  }
  Tensor sum = empty(pieces[0].shape(), pieces[0].dtype());
  compute(context_.arithmetic, Reduction{.op = first_.reduce,
                                         .dtype = sum.dtype(),
                                         .factor = first_.factor,
                                         .operands = operands,
                                         .count = sum.numel(),
                                         .result = sum.mutable_data(),
                                         .owner = std::int64_t(owner)});
  return sum;
}

// Each process gets the whole operands, in an order that cuts the whole.
void SpreadExchanging::scatter_whole_sums() {
  Inputs inputs = whole_inputs(taking_part_);
  for (std::size_t member = 0; member < members_; ++member) {
    if (!owns(member)) continue;
    forget_shapes(member);
    for (ResultPart& part : computed(first_, inputs, member)) give(member, std::move(part));
  }
}

// Each process gets all operands' pieces for its members.
void SpreadExchanging::scatter_sums_of_pieces() {
  std::vector<Piece> pieces;
  std::size_t count = first_.inputs.size();
  for (std::size_t member = 0; member < members_; ++member)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t from = 0; from < members_; ++from) {
        Shape shape = first_.inputs[i].shape();
        std::int64_t& size = shape[std::size_t(first_.dim)];
        Chunk chunk = chunk_of({size, std::int64_t(members_), std::int64_t(member)});
        size = chunk.length;
        add(pieces, from, owners_[member], i, std::move(shape), [&](const Tensor& whole) {
          return whole.narrow({first_.dim, chunk.start, chunk.length});
        });
      }
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::operands);
  for (std::size_t member = 0; member < members_; ++member) {
    if (!owns(member)) continue;
    forget_shapes(member);
    for (std::size_t i = 0; i < count; ++i) {
      auto begin = tensors.begin() + std::ptrdiff_t((member * count + i) * members_);
      std::vector<Tensor> operands(begin, begin + std::ptrdiff_t(members_));
      give(member, ResultPart::of(sum_of_pieces(operands, member)));
    }
  }
}

void SpreadExchanging::reduce_scatter() {
  if (place_counts() && !adds_by_owner(context_.arithmetic))
    scatter_whole_sums();
  else
    scatter_sums_of_pieces();
}

void SpreadExchanging::broadcast() {
  auto root = std::size_t(first_.root);
  std::vector<Piece> pieces;
  std::size_t count = exchange_.call(root).inputs.size();
  for (int to : taking_part_)
    for (std::size_t i = 0; i < count; ++i) add_whole(pieces, root, to, i);
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::results);
  exchange_.take_shared();
  for (const Tensor& tensor : tensors)
    if (tensor.is_defined()) exchange_.give_all(ResultPart::of(tensor));
}

void SpreadExchanging::scatter() {
  auto root = std::size_t(first_.root);
  std::vector<Piece> pieces;
  for (std::size_t member = 0; member < members_; ++member)
    add_whole(pieces, root, owners_[member], member);
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::results);
  for (std::size_t member = 0; member < members_; ++member) {
    if (!owns(member)) continue;
    forget_shapes(member);
    give(member, ResultPart::of(tensors[member]));
  }
}

// Each process joins the rows for its members as an all-gather joins them.
void SpreadExchanging::all_to_all() {
  std::vector<Piece> pieces;
  for (std::size_t to = 0; to < members_; ++to)
    for (std::size_t from = 0; from < members_; ++from) {
      Chunk rows = exchange_.rows_between(from, to);
      Shape shape = exchange_.call(from).inputs[0].shape();
      shape[std::size_t(first_.scatter_dim)] = rows.length;
      add(pieces, from, owners_[to], 0, std::move(shape), [&](const Tensor& whole) {
        return whole.narrow({first_.scatter_dim, rows.start, rows.length});
      });
    }
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::operands);
  CollectiveCall join{
      .op = CollectiveOp::all_gather, .dim = first_.dim, .uneven = true, .site = first_.site};
  for (std::size_t to = 0; to < members_; ++to) {
    if (!owns(to)) continue;
    Inputs inputs(members_);
    for (std::size_t from = 0; from < members_; ++from)
      inputs[from].push_back(tensors[to * members_ + from]);
    forget_shapes(to);
    give(to, computed(join, inputs).front());
  }
}

void SpreadExchanging::all_to_all_list() {
  std::vector<Piece> pieces;
  for (std::size_t to = 0; to < members_; ++to)
    for (std::size_t from = 0; from < members_; ++from) add_whole(pieces, from, owners_[to], to);
  std::vector<Tensor> tensors = exchange_pieces(spread_, name(), pieces, PieceUse::results);
  for (std::size_t to = 0; to < members_; ++to) {
    if (!owns(to)) continue;
    forget_shapes(to);
    for (std::size_t from = 0; from < members_; ++from)
      give(to, ResultPart::of(tensors[to * members_ + from]));
  }
}

void run_on_owners(SpreadExchanging& work, const CollectiveCall& call, int root_owner) {
  switch (call.op) {
    case CollectiveOp::barrier: return;
    case CollectiveOp::all_reduce: return work.reduce_to(work.taking_part());
    case CollectiveOp::reduce: return work.reduce_to({root_owner});
    case CollectiveOp::reduce_scatter: return work.reduce_scatter();
    case CollectiveOp::all_gather:
    case CollectiveOp::all_gather_list: return work.gather_to(work.taking_part());
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object: return work.broadcast();
    case CollectiveOp::scatter: return work.scatter();
    case CollectiveOp::gather: return work.gather_to({root_owner});
    case CollectiveOp::all_to_all: return work.all_to_all();
    case CollectiveOp::all_to_all_list: return work.all_to_all_list();
  }
}

}  // namespace

void SpreadTransport::exchange(Exchange& exchange, const TransportContext& context) const {
  SpreadRun& spread = *SpreadRun::of(this_rank().run());
  const CollectiveCall& call = exchange.call(0);
  SpreadExchanging work(spread, exchange, context);
  spread.begin_exchange();
  bool is_alone = work.taking_part().size() == 1;
  if (is_alone && work.takes_part()) {
    DataModeScope with_data(false);
    return SharedMemoryTransport().exchange(exchange, context);
  }
  ShapeTransport().exchange(exchange, context);
  if (!work.takes_part()) return;
  Ledger::Uncharged scope;
  Clock::Quiet no_copies;
  DataModeScope with_data(false);
  int root_owner = spread.owner(exchange.membership().rank_of(std::size_t(call.root)));
  run_on_owners(work, call, root_owner);
}

void share_message(ResultPart& payload, RankId sender, RankId receiver) {
  SpreadRun* spread = SpreadRun::of(this_rank().run());
  if (!spread || spread->owner(sender) == spread->owner(receiver)) return;
  Ledger::Uncharged scope;
  Clock::Quiet no_copies;
  DataModeScope with_data(false);
  spread->begin_exchange();
  Piece piece{spread->owner(sender), spread->owner(receiver), payload.dtype, payload.shape,
              Tensor()};
  if (spread->owns(sender)) piece.tensor = payload.to_tensor();
  Tensor tensor = exchange_pieces(*spread, "message", {piece}, PieceUse::results).front();
  if (tensor.is_defined()) payload = ResultPart::of(tensor);
}

}  // namespace simmesh
