#include "collectives/posting.h"

#include <algorithm>
#include <array>
#include <optional>

#include "collectives/device_launch.h"
#include "collectives/group.h"
#include "core/check/error.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

std::size_t checked_peer(std::int64_t peer, const ProcessGroup& group, const char* operation) {
  if (peer < 0 || peer >= group.size())
    raise(ErrorKind::index_error, "collectives/point_to_point",
          "{}: expected a peer among the {} members of group {}, got {}", operation, group.size(),
          group.name(), peer);
  return std::size_t(peer);
}

// A rank of a folded world exchanges messages with ranks that are run, too.
void check_fold(const std::optional<std::size_t>& peer, const ProcessGroup& group,
                const char* operation, const CallSite& site) {
  const std::vector<RankId>& ranks = group.owner().world().representatives();
  if (ranks.empty()) return;
  if (!peer)
    raise(ErrorKind::runtime_error, "collectives/point_to_point",
          "{} at {}: expected a peer in a folded world, where only a few ranks run, got none",
          operation, to_string(site));
  auto other = RankId(group.members()[std::int64_t(*peer)]);
  if (!std::binary_search(ranks.begin(), ranks.end(), other))
    raise(ErrorKind::runtime_error, "collectives/point_to_point",
          "{} at {}: expected a peer that runs, got rank {}, which this folded world doesn't run",
          operation, to_string(site), other);
}

// Begins an operation, and returns its fault, if it has one.
const Fault* begin(const ProcessGroup& group, const char* operation, const CallSite& site) {
  Rank& rank = group.owner();
  const Fault* fault = rank.run().begin_operation(rank, operation, site);
  if (fault && fault->kind == Fault::Kind::abandon) throw RankEnded();
  group.group().require_alive(group.member(), operation);
  return fault;
}

// The receiver gets another bit than was sent.
void flip_bit(Tensor& sent, const Fault& fault) {
  if (fault.kind != Fault::Kind::flip_bit || !sent.has_elements() || sent.bytes() == 0) return;
  std::uint64_t bit = fault.bit % (sent.bytes() * 8);
  sent.mutable_data()[bit / 8] ^= std::byte(1u << (bit % 8));
}

Tensor snapshot(const Tensor& tensor) {
  Ledger::Uncharged scope;
  Clock::Quiet no_copy;
  return tensor.clone();
}

}  // namespace

PostedMessage post_message(const Carried& carried, const SendTo& to, const ProcessGroup& group,
                           const CallSite& site) {
  const Tensor& tensor = carried.tensor;
  const Fault* fault = begin(group, "send", site);
  std::size_t peer = checked_peer(to.peer, group, "send");
  check_fold(peer, group, "send", site);
  Rank& rank = group.owner();
  Group& shared = group.group();
  std::uint64_t delivery = shared.delivery_object(peer, to.tag);
  std::array accesses = {Access{shared.mailbox_object(peer, to.tag), Access::Kind::add},
                         Access{delivery, Access::Kind::add}};
  rank.run().touch(rank, accesses, site);
  ResultPart payload{.shape = tensor.shape(), .dtype = tensor.dtype()};
  if (!carried.host) {
    Tensor sent = snapshot(tensor);
    if (fault) flip_bit(sent, *fault);
    payload = ResultPart::of(sent);
  }
  rank.run().record({.rank = rank.id(),
                     .kind = EventKind::send,
                     .operation = "send",
                     .group = shared.id(),
                     .elements = tensor.numel(),
                     .site = site});
  std::shared_ptr<MessageTimes> times;
  if (Clock* clock = rank.clock()) times = sent_from_device(tensor, peer, group, *clock);
  std::uint64_t number = shared.mailbox().post({.from = group.member(),
                                                .to = peer,
                                                .tag = to.tag,
                                                .payload = std::move(payload),
                                                .object = delivery,
                                                .site = site,
                                                .host = carried.host,
                                                .times = times});
  return {number, std::move(times)};
}

Receive make_receive(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
                     const CallSite& site) {
  begin(group, "receive", site);
  Receive receive{.to = group.member(),
                  .tag = from.tag,
                  .dtype = dtype,
                  .shape = Shape(shape.begin(), shape.end()),
                  .site = site,
                  .any_type = from.any_type};
  if (Clock* clock = group.owner().clock()) receive.ready = clock->now();
  Run& run = group.owner().run();
  Group& shared = group.group();
  if (from.peer) receive.from = checked_peer(*from.peer, group, "receive");
  check_fold(receive.from, group, "receive", site);
  if (!from.peer) run.touches().mark_adds_ordered(shared.mailbox_object(group.member(), from.tag));
  receive.object = shared.delivery_object(group.member(), from.tag);
  run.touch_in_step(group.owner(), {receive.object, Access::Kind::add}, site);
  run.record({.rank = group.owner().id(),
              .kind = EventKind::receive,
              .operation = "receive",
              .group = group.group().id(),
              .elements = numel(shape),
              .site = site});
  return receive;
}

}  // namespace simmesh
