#include "collectives/group.h"

#include <algorithm>

#include "collectives/comm_debug_mode.h"
#include "collectives/fabric.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/run/spread_run.h"

namespace simmesh {

namespace {

const Transport& transport_of(Run& run) {
  static const SharedMemoryTransport shared_memory;
  static const ShapeTransport shapes;
  static const SpreadTransport spread;
  if (SpreadRun::of(run)) return spread;
  return run.options().shapes_only ? static_cast<const Transport&>(shapes) : shared_memory;
}

}  // namespace

Group::Group(Run& run, Membership membership, CollectiveCounts& counts)
    : run_(run),
      membership_(std::move(membership)),
      counts_(counts),
      mailbox_(run, membership_),
      transport_(transport_of(run)),
      next_sequence_(membership_.size(), 0) {}

Exchange& Group::exchange_of(std::uint64_t sequence) {
  std::size_t index = std::size_t(sequence - oldest_sequence_);
  SIMMESH_CHECK(index <= under_way_.size(), "#{} begins before #{}", sequence,
                oldest_sequence_ + under_way_.size());
  if (index == under_way_.size()) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Exchange>(membership_, &under_way_));
    under_way_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    under_way_.back()->start(sequence);
  }
  return *under_way_[index];
}

void Group::abort(std::size_t member) {
  aborted_.resize(membership_.size());
  aborted_[member] = true;
}

void Group::require_alive(std::size_t member, const char* operation) const {
  if (is_aborted(member)) [[unlikely]]
    raise(ErrorKind::value_error, "collectives/process_group",
          "{}: process group {} is not initialized: expected one that rank {} didn't abort",
          operation, membership_.describe(), membership_.rank_of(member));
}

std::uint64_t Group::identity() {
  if (identity_ != 0) return identity_;
  FoldHash hash(membership_.size());
  for (char letter : membership_.name()) hash.fold(std::uint64_t(letter));
  for (std::size_t member = 0; member < membership_.size(); ++member)
    hash.fold(membership_.rank_of(member));
  return identity_ = hash.value();
}

std::uint64_t Group::exchange_object(std::uint64_t sequence) {
  FoldHash hash(identity());
  hash.fold(sequence);
  return hash.value();
}

std::uint64_t Group::mailbox_object(std::size_t to, std::int64_t tag) {
  FoldHash hash(identity());
  hash.fold(to);
  hash.fold(std::uint64_t(tag));
  return hash.value();
}

std::uint64_t Group::delivery_object(std::size_t to, std::int64_t tag) {
  FoldHash hash(mailbox_object(to, tag));
  hash.fold(to);
  return hash.value();
}

void Group::tell_arrival(std::size_t member, const Arrival& arrival) {
  std::uint64_t object = exchange_object(next_sequence_[member]);
  run_.touch_in_step(*arrival.rank, {object, Access::Kind::add}, arrival.call->site);
  run_.touches().publish(arrival.rank->id(), object);
}

Exchange& Group::arrive(std::size_t member, Arrival& arrival) {
  const CollectiveCall& call = *arrival.call;
  require_alive(member, name_of(call.op));
  if (run_.touches().is_listened_to()) [[unlikely]]
    tell_arrival(member, arrival);
  std::uint64_t sequence = next_sequence_[member];
  run_.fold((std::uint64_t(call.op) << 56) ^ (std::uint64_t(id()) << 32) ^ sequence);
  run_.record({.rank = arrival.rank->id(),
               .kind = EventKind::arrive,
               .operation = name_of(call.op),
               .group = id(),
               .sequence = std::uint32_t(sequence),
               .elements = call.inputs.empty() ? 0 : call.inputs[0].numel(),
               .site = call.site});
  Exchange& exchange = exchange_of(sequence);
  try {
    exchange.arrive(member, arrival);
  } catch (const Error&) {
    run_.touches().mark_disagreement(exchange_object(sequence));
    throw;
  }
  arrival.sequence = sequence;
  next_sequence_[member] = sequence + 1;
  ++arrival.rank->counters()[std::size_t(call.op)];
  CommDebugMode::see(*arrival.rank, call);
  ++counts_.by_op[std::size_t(call.op)].calls;
  return exchange;
}

Exchange& Group::join(std::size_t member, Arrival& arrival) {
  Exchange& exchange = arrive(member, arrival);
  if (exchange.all_arrived()) complete(exchange);
  return exchange;
}

Exchange& Group::join_and_keep(std::size_t member, std::shared_ptr<Arrival> arrival) {
  Exchange& exchange = arrive(member, *arrival);
  exchange.keep(std::move(arrival));
  if (exchange.all_arrived()) complete(exchange);
  return exchange;
}

void Group::complete(Exchange& exchange) {
  const CollectiveCall& call = exchange.call(0);
  if (call.op != CollectiveOp::barrier) {
    exchange.load_host();
    transport_.exchange(exchange, {.arithmetic = run_.options().arithmetic,
                                   .memory = &this_rank().ledger().memory(),
                                   .copied_bytes = counts_.copied_bytes});
    counts_.by_op[std::size_t(call.op)].fabric_bytes += fabric_bytes(exchange);
  }
  sleepers_.clear();
  boost::intrusive_ptr<SharedResults> shared = exchange.take_shared();
  for (std::size_t member = 0; member < exchange.members(); ++member) {
    if (!exchange.is_run(member)) continue;
    Arrival& arrival = exchange.arrival(member);
    arrival.is_complete = true;
    arrival.shared = shared;
    if (arrival.is_blocked) sleepers_.push_back(arrival.rank->id());
  }
  exchange.store_host();
  // Retire before waking: a rank that is woken runs ahead, and may drop what it has waited for.
  retire();
  for (RankId rank : sleepers_) run_.wake(rank);
}

// Exchanges of one group complete in order: a member can't arrive at one before all earlier ones.
void Group::retire() {
  under_way_.front()->finish(run_);
  spare_.push_back(std::move(under_way_.front()));
  under_way_.erase(under_way_.begin());
  ++oldest_sequence_;
}

Group& GroupTable::find_or_make(Run& run, const RankList& members, const std::string& name) {
  // Sorted by name: a run may have very many groups of the same members.
  auto& same_members = groups_[members];
  auto place = std::lower_bound(same_members.begin(), same_members.end(), name,
                                [](const auto& group, const std::string& wanted) {
                                  return group->membership().name() < wanted;
                                });
  if (place != same_members.end() && (*place)->membership().name() == name) return **place;
  return **same_members.insert(
      place, std::make_unique<Group>(run, Membership({next_id_++, name, members}, run.options()),
                                     *counts_));
}

}  // namespace simmesh
