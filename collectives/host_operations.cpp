#include "collectives/host_operations.h"

#include "collectives/posting.h"
#include "collectives/work_state.h"

namespace simmesh {

namespace {

// Returns a flat shape: messages between hosts agree in their number of elements only.
Shape flat_shape(const HostArray& array) { return {numel(array.shape)}; }

}  // namespace

Work start_collective_on(std::shared_ptr<const HostMemory> memory, const ProcessGroup& group,
                         const CollectiveCall& call, AfterStart after) {
  CollectiveCall asked = call;
  std::vector<Tensor> placeholders = memory->placeholders();
  asked.inputs = placeholders;
  Work work = start_collective(group, asked, {.host = std::move(memory)});
  if (after == AfterStart::yields) group.owner().yield(call.site);
  return work;
}

void refuse_memory(const Error& error, const ProcessGroup& group, const CollectiveCall& call) {
  const Group& shared = group.group();
  refuse_call(error.kind(), call,
              {shared.membership(), group.member(), shared.next_sequence(group.member())},
              error.message());
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
