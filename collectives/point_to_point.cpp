#include <simmesh/collectives/point_to_point.h>
#include <simmesh/collectives/work_state.h>
#include <simmesh/core/check/bits_hash.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

std::size_t checked_peer(std::int64_t peer, const ProcessGroup& group, const char* operation) {
  if (peer < 0 || peer >= group.size())
    raise(ErrorKind::index_error, "collectives/point_to_point",
          "{}: expected a peer among the {} members of group {}, got {}", operation, group.size(),
          group.name(), peer);
  return std::size_t(peer);
}

// The mailbox of one receiver and tag: what senders race for where it is received from with any
// source.
std::uint64_t mailbox_id(const Group& group, std::size_t to, std::int64_t tag) {
  FoldHash hash;
  hash.fold(group.id());
  hash.fold(to);
  hash.fold(std::uint64_t(tag));
  return hash.value();
}

void begin(const ProcessGroup& group, const char* operation, const CallSite& site) {
  Rank& rank = group.owner();
  if (!rank.world().representatives().empty())
    raise(ErrorKind::runtime_error, "collectives/point_to_point",
          "{} at {}: expected a world that runs every rank, got a folded one, where a peer may "
          "never come",
          operation, to_string(site));
  const Fault* fault = rank.run().begin_operation(rank, operation, site);
  if (fault && fault->kind == Fault::Kind::abandon) throw RankEnded();
}

Tensor snapshot(const Tensor& tensor, Rank& rank) {
  Ledger::set_active(nullptr);
  Tensor copy = tensor.clone();
  Ledger::set_active(&rank.ledger());
  return copy;
}

ResultPart payload_of(const Tensor& tensor) {
  ResultPart part{.shape = tensor.shape(), .dtype = tensor.dtype()};
  if (!tensor.has_elements()) return part;
  part.buffer = tensor.storage()->buffer();
  part.offset = tensor.storage()->buffer_offset();
  part.hash = bits_hash({tensor.data(), tensor.bytes()});
  return part;
}

std::uint64_t post_message(const Tensor& tensor, const SendTo& to, const ProcessGroup& group,
                           const CallSite& site) {
  begin(group, "send", site);
  std::size_t peer = checked_peer(to.peer, group, "send");
  Rank& rank = group.owner();
  Group& shared = group.group();
  rank.run().touch(rank, mailbox_id(shared, peer, to.tag), site);
  ResultPart payload = payload_of(snapshot(tensor, rank));
  rank.run().record({.rank = rank.id(),
                     .kind = EventKind::send,
                     .operation = "send",
                     .group = shared.id(),
                     .elements = tensor.element_count(),
                     .site = site});
  return shared.mailbox().post({.from = group.member(),
                                .to = peer,
                                .tag = to.tag,
                                .payload = std::move(payload),
                                .site = site});
}

Receive make_receive(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
                     const CallSite& site) {
  begin(group, "receive", site);
  Receive receive{.to = group.member(),
                  .tag = from.tag,
                  .dtype = dtype,
                  .shape = Shape(shape.begin(), shape.end()),
                  .site = site};
  Run& run = group.owner().run();
  if (from.peer)
    receive.from = checked_peer(*from.peer, group, "receive");
  else
    run.mark_order_sensitive(mailbox_id(group.group(), group.member(), from.tag));
  run.record({.rank = group.owner().id(),
              .kind = EventKind::receive,
              .operation = "receive",
              .group = group.group().id(),
              .elements = element_count(shape),
              .site = site});
  return receive;
}

}  // namespace

void send(const Tensor& tensor, const SendTo& to, const ProcessGroup& group, CallSite site) {
  std::uint64_t message = post_message(tensor, to, group, site);
  group.group().mailbox().wait_received(message, group.owner(), site);
}

Work isend(const Tensor& tensor, const SendTo& to, const ProcessGroup& group, CallSite site) {
  auto state = std::make_shared<Work::State>(group);
  state->message = post_message(tensor, to, group, site);
  return Work(state);
}

Received recv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
              CallSite site) {
  Receive receive = make_receive(shape, dtype, from, group, site);
  Rank& rank = group.owner();
  Mailbox& mailbox = group.group().mailbox();
  mailbox.post(receive);
  mailbox.wait_message(receive, rank);
  const Message& message = *receive.message;
  rank.record(message.payload.hash);
  return {message.payload.to_tensor(), std::int64_t(message.from)};
}

Work irecv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
           CallSite site) {
  auto state = std::make_shared<Work::State>(group);
  state->receive = make_receive(shape, dtype, from, group, site);
  group.group().mailbox().post(*state->receive, state);
  return Work(state);
}

}  // namespace simmesh
