#include "collectives/point_to_point.h"

#include "collectives/comm_event.h"
#include "collectives/device_launch.h"
#include "collectives/group.h"
#include "collectives/host_operations.h"
#include "collectives/work_state.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/tensor/elements_hash.h"

namespace simmesh {

namespace {

std::size_t checked_peer(std::int64_t peer, const ProcessGroup& group, const char* operation) {
  if (peer < 0 || peer >= group.size())
    raise(ErrorKind::index_error, "collectives/point_to_point",
          "{}: expected a peer among the {} members of group {}, got {}", operation, group.size(),
          group.name(), peer);
  return std::size_t(peer);
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
  group.group().require_alive(group.member(), operation);
}

Tensor snapshot(const Tensor& tensor) {
  Ledger::Uncharged scope;
  Clock::Quiet no_copy;
  return tensor.clone();
}

ResultPart payload_of(const Tensor& tensor) {
  ResultPart part{.shape = tensor.shape(), .dtype = tensor.dtype()};
  if (!tensor.has_elements()) return part;
  part.buffer = tensor.storage()->buffer();
  part.offset = tensor.storage()->buffer_offset();
  part.hash = elements_hash({tensor.data(), tensor.bytes()}, tensor.dtype());
  return part;
}

// A message as its sender knows it after handing it over.
struct PostedMessage {
  std::uint64_t number;
  std::shared_ptr<MessageTimes> times;
};

// Messages between hosts agree in their number of elements.
Shape flat_shape(const HostArray& array) { return {element_count(array.shape)}; }

// What a message carries: a tensor, or memory of the host, of which the tensor then has only the
// type.
struct Carried {
  const Tensor& tensor;
  std::shared_ptr<const HostMemory> host = nullptr;
};

PostedMessage post_message(const Carried& carried, const SendTo& to, const ProcessGroup& group,
                           const CallSite& site) {
  const Tensor& tensor = carried.tensor;
  begin(group, "send", site);
  std::size_t peer = checked_peer(to.peer, group, "send");
  Rank& rank = group.owner();
  Group& shared = group.group();
  rank.run().touch(rank, shared.mailbox_object(peer, to.tag), site);
  if (rank.run().is_explored()) rank.run().touch_within(rank, shared.delivery_object(peer, to.tag));
  ResultPart payload =
      carried.host ? ResultPart{.shape = tensor.shape(), .dtype = tensor.dtype()}
                   : payload_of(snapshot(tensor));
  rank.run().record({.rank = rank.id(),
                     .kind = EventKind::send,
                     .operation = "send",
                     .group = shared.id(),
                     .elements = tensor.element_count(),
                     .site = site});
  std::shared_ptr<MessageTimes> times;
  if (Clock* clock = rank.clock()) times = sent_from_device(tensor, peer, group, *clock);
  std::uint64_t number = shared.mailbox().post({.from = group.member(),
                                                .to = peer,
                                                .tag = to.tag,
                                                .payload = std::move(payload),
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
                  .site = site};
  if (Clock* clock = group.owner().clock()) receive.ready = clock->now();
  Run& run = group.owner().run();
  Group& shared = group.group();
  if (from.peer)
    receive.from = checked_peer(*from.peer, group, "receive");
  else
    run.mark_order_sensitive(shared.mailbox_object(group.member(), from.tag));
  if (run.is_explored())
    run.touch_within(group.owner(), shared.delivery_object(group.member(), from.tag));
  run.record({.rank = group.owner().id(),
              .kind = EventKind::receive,
              .operation = "receive",
              .group = group.group().id(),
              .elements = element_count(shape),
              .site = site});
  return receive;
}

void tell_sent(const Tensor& tensor, const SendTo& to, const ProcessGroup& group,
               const WorkState* work = nullptr) {
  tell({.kind = CommEvent::Kind::send,
        .group = group,
        .peer = to.peer,
        .tag = to.tag,
        .work = work,
        .inputs = {&tensor, 1}});
}

}  // namespace

void send(const Tensor& tensor, const SendTo& to, const ProcessGroup& group, CallSite site) {
  PostedMessage message = post_message({tensor}, to, group, site);
  group.group().mailbox().wait_received(message.number, group.owner(), site);
  if (message.times)
    run_on_device({.site = site, .tensor = tensor, .times = *message.times},
                  *group.owner().clock());
  if (Watch::is_on()) [[unlikely]]
    tell_sent(tensor, to, group);
}

Work isend(const Tensor& tensor, const SendTo& to, const ProcessGroup& group, CallSite site) {
  auto state = std::make_shared<WorkState>(group);
  PostedMessage message = post_message({tensor}, to, group, site);
  state->message = message.number;
  state->object = group.group().delivery_object(std::size_t(to.peer), to.tag);
  state->times = message.times;
  if (Clock* clock = group.owner().clock())
    state->ended = start_send_on_device(tensor, group, site, *clock);
  if (Watch::is_on()) [[unlikely]]
    tell_sent(tensor, to, group, state.get());
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
  Received received{message.payload.to_tensor(), std::int64_t(message.from)};
  if (message.times)
    run_on_device(
        {.is_received = true, .site = site, .tensor = received.tensor, .times = *message.times},
        *rank.clock());
  if (Watch::is_on()) [[unlikely]]
    tell({.kind = CommEvent::Kind::receive,
          .group = group,
          .peer = received.peer,
          .tag = from.tag,
          .results = {&received.tensor, 1}});
  return received;
}

Work irecv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
           CallSite site) {
  auto state = std::make_shared<WorkState>(group);
  state->receive = make_receive(shape, dtype, from, group, site);
  state->object = group.group().delivery_object(group.member(), from.tag);
  group.group().mailbox().post(*state->receive, {state, &*state->receive});
  if (Watch::is_on()) [[unlikely]]
    tell({.kind = CommEvent::Kind::receive,
          .group = group,
          .peer = from.peer.value_or(-1),
          .tag = from.tag,
          .work = state.get(),
          .dtype = dtype,
          .shape = shape});
  return Work(state);
}

Work isend_from(std::shared_ptr<const HostMemory> memory, const SendTo& to,
                const ProcessGroup& group, CallSite site) {
  auto state = std::make_shared<WorkState>(group);
  const HostArray& array = memory->operands().at(0);
  Tensor type = empty_meta(flat_shape(array), array.dtype);
  PostedMessage message = post_message({type, memory}, to, group, site);
  state->host = std::move(memory);
  state->message = message.number;
  state->object = group.group().delivery_object(std::size_t(to.peer), to.tag);
  group.owner().yield(site);
  return Work(state);
}

Work irecv_into(std::shared_ptr<const HostMemory> memory, const ReceiveFrom& from,
                const ProcessGroup& group, CallSite site) {
  auto state = std::make_shared<WorkState>(group);
  const HostArray& array = memory->results().at(0);
  state->receive = make_receive(flat_shape(array), array.dtype, from, group, site);
  state->receive->host = memory;
  state->host = std::move(memory);
  state->object = group.group().delivery_object(group.member(), from.tag);
  group.group().mailbox().post(*state->receive, {state, &*state->receive});
  group.owner().yield(site);
  return Work(state);
}

}  // namespace simmesh
