#include "collectives/group.h"

#include <algorithm>
#include <fmt/format.h>

#include "collectives/fabric.h"
#include "core/check/check.h"

namespace simmesh {

namespace {

std::vector<std::size_t> members_that_run(const World& world, const RankList& members) {
  std::vector<std::size_t> indices;
  for (RankId rank : world.representatives())
    if (auto member = members.index_of(rank)) indices.push_back(std::size_t(*member));
  std::sort(indices.begin(), indices.end());
  return indices;
}

const Transport& transport_of(const World& world) {
  static const SharedMemoryTransport shared_memory;
  static const ShapeTransport shapes;
  return world.options().shapes_only ? static_cast<const Transport&>(shapes) : shared_memory;
}

}  // namespace

Group::Group(Run& run, Identity identity, CollectiveCounts& counts)
    : run_(run),
      id_(identity.id),
      name_(std::move(identity.name)),
      members_(std::move(identity.members)),
      members_run_(members_that_run(run.world(), members_)),
      counts_(counts),
      mailbox_(*this),
      transport_(transport_of(run.world())),
      next_sequence_(std::size_t(members_.size()), 0) {}

bool Group::is_run(std::size_t member) const {
  return members_run_.empty() ||
         std::binary_search(members_run_.begin(), members_run_.end(), member);
}

std::string Group::describe() const { return fmt::format("{} {}", name_, to_string(members_)); }

Exchange& Group::exchange_of(std::uint64_t sequence) {
  std::size_t index = std::size_t(sequence - oldest_sequence_);
  SIMMESH_CHECK(index <= under_way_.size(), "#{} begins before #{}", sequence,
                oldest_sequence_ + under_way_.size());
  if (index == under_way_.size()) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Exchange>(*this));
    under_way_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    under_way_.back()->start(sequence);
  }
  return *under_way_[index];
}

Exchange& Group::join(std::size_t member, Arrival& arrival,
                      std::shared_ptr<Work::State> keep_alive) {
  const CollectiveCall& call = *arrival.call;
  std::uint64_t sequence = next_sequence_[member];
  run_.fold((std::uint64_t(call.op) << 56) ^ (std::uint64_t(id_) << 32) ^ sequence);
  run_.record({.rank = arrival.rank->id(),
               .kind = EventKind::arrive,
               .operation = name_of(call.op),
               .group = id_,
               .sequence = std::uint32_t(sequence),
               .elements = call.inputs.empty() ? 0 : call.inputs[0].element_count(),
               .site = call.site});
  Exchange& exchange = exchange_of(sequence);
  exchange.arrive(member, arrival);
  if (keep_alive) exchange.keep(std::move(keep_alive));
  arrival.sequence = sequence;
  next_sequence_[member] = sequence + 1;
  ++arrival.rank->counters()[std::size_t(call.op)];
  ++counts_.by_op[std::size_t(call.op)].calls;
  if (exchange.all_arrived()) complete(exchange);
  return exchange;
}

void Group::complete(Exchange& exchange) {
  const CollectiveCall& call = exchange.call(0);
  if (call.op != CollectiveOp::barrier) {
    transport_.exchange(exchange, {.arithmetic = run_.world().options().arithmetic,
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
  // Before any of them runs ahead on another thread: what the exchange keeps may be the last that
  // holds a rank's tensors, whose ledger is that rank's alone.
  retire();
  for (RankId rank : sleepers_) run_.wake(rank);
}

// Exchanges of one group complete in order: a member can't arrive at one before all earlier ones.
void Group::retire() {
  under_way_.front()->finish();
  spare_.push_back(std::move(under_way_.front()));
  under_way_.erase(under_way_.begin());
  ++oldest_sequence_;
}

Group& GroupTable::find_or_make(Run& run, const RankList& members, const std::string& name) {
  auto& same_members = groups_[members];
  for (auto& group : same_members)
    if (group->name() == name) return *group;
  same_members.push_back(
      std::make_unique<Group>(run, Group::Identity{next_id_++, name, members}, *counts_));
  return *same_members.back();
}

}  // namespace simmesh
