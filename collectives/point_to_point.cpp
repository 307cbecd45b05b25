#include "collectives/point_to_point.h"

#include "collectives/comm_event.h"
#include "collectives/device_launch.h"
#include "collectives/posting.h"
#include "collectives/work_state.h"

namespace simmesh {

namespace {

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

}  // namespace simmesh
