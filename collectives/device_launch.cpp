#include "collectives/device_launch.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "collectives/group.h"
#include "core/tensor/launch.h"

namespace simmesh {

namespace {

// CommunicatorStreams are the streams of one rank for operations that it starts, by group.
struct CommunicatorStreams {
  std::map<std::uint32_t, Stream> collectives, messages;
};

Stream stream_of(const ProcessGroup& group, std::map<std::uint32_t, Stream>& streams,
                 const char* what, Clock& clock) {
  auto found = streams.find(group.group().id());
  if (found != streams.end()) return found->second;
  Stream stream(clock.make_stream(fmt::format("{} {}", what, group.name())));
  return streams.emplace(group.group().id(), stream).first->second;
}

}  // namespace

double collective_us(const CollectiveSize& size, const Topology& topology) {
  double bytes = size.bytes;
  std::int64_t members = size.members;
  switch (facts_of(size.op).price) {
    case CollectivePrice::all_reduce: return topology.all_reduce_us(bytes, members, size.link);
    case CollectivePrice::reduce_scatter:
      return topology.reduce_scatter_us(bytes, members, size.link);
    case CollectivePrice::all_gather_of_pieces:
      return topology.all_gather_us(bytes * double(members), members, size.link);
    case CollectivePrice::all_gather_of_whole:
      return topology.all_gather_us(bytes, members, size.link);
    case CollectivePrice::all_to_all: return topology.all_to_all_us(bytes, members, size.link);
  }
  return 0;
}

double collective_us(const CollectiveCall& call, const ProcessGroup& group,
                     const DeviceModel& model) {
  const Topology& topology = model.topology;
  CollectiveSize size{.op = call.op,
                      .members = group.size(),
                      .link = topology.link_among(group.members().min(), group.members().max())};
  for (const Tensor& input : call.inputs) size.bytes += double(input.bytes());
  return collective_us(size, topology);
}

DeviceLaunch::DeviceLaunch(const ProcessGroup& group, const Arrival& arrival,
                           gsl::span<const Tensor> results, const Clock& clock)
    : key_{.group = group.group().id(),
           .sequence = arrival.sequence,
           .members = group.group().membership().count_run()} {
  const CollectiveCall& call = *arrival.call;
  for (const Tensor& input : call.inputs)
    if (input.is_defined()) reads_.push_back(memory_of(input));
  for (const Tensor& result : results)
    if (result.is_defined()) writes_.push_back(memory_of(result));
  launch_ = {.name = name_of(call.op),
             .site = call.site,
             .reads = reads_,
             .writes = writes_,
             .cost_us = collective_us(call, group, clock.model()),
             .collective = &key_};
}

void run_on_device(const ProcessGroup& group, const Arrival& arrival,
                   gsl::span<const Tensor> results, Clock& clock) {
  clock.launch(DeviceLaunch(group, arrival, results, clock).launch());
}

Stream communicator_stream(const ProcessGroup& group, Clock& clock) {
  auto& streams = group.owner().state<CommunicatorStreams>().collectives;
  return stream_of(group, streams, "communicator", clock);
}

StreamEvent start_on_device(const DeviceStart& start, Clock& clock) {
  Arrival asked;
  asked.call = &start.call;
  asked.sequence = start.arrival.sequence;
  bool has_target = start.into.is_defined();
  DeviceLaunch launch(start.group, asked, {&start.into, has_target ? 1u : 0u}, clock);
  if (start.on_current_stream) {
    clock.launch(launch.launch());
    return {};
  }
  Stream communicator = communicator_stream(start.group, clock);
  return StreamEvent(clock.start_apart(communicator.index(), launch.launch()));
}

std::shared_ptr<MessageTimes> sent_from_device(const Tensor& tensor, std::size_t to,
                                               const ProcessGroup& group, Clock& clock) {
  auto [lower, higher] =
      std::minmax({group.members()[group.rank()], group.members()[std::int64_t(to)]});
  const Topology& topology = clock.model().topology;
  double cost_us = topology.message_us(double(tensor.bytes()), topology.link_among(lower, higher));
  return std::make_shared<MessageTimes>(MessageTimes{.sender = clock.now(), .cost_us = cost_us});
}

void run_on_device(const MessageEnd& message, Clock& clock) {
  MemoryRange memory = memory_of(message.tensor);
  Launch launch{.name = "send", .site = message.site, .message = &message.times};
  launch.reads = {&memory, 1};
  if (message.is_received) {
    launch.name = "receive";
    std::swap(launch.reads, launch.writes);
  }
  clock.launch(launch);
}

StreamEvent start_send_on_device(const Tensor& tensor, const ProcessGroup& group,
                                 const CallSite& site, Clock& clock) {
  MemoryRange memory = memory_of(tensor);
  Launch read{.name = "isend", .site = site, .reads = {&memory, 1}};
  auto& streams = group.owner().state<CommunicatorStreams>().messages;
  Stream messages = stream_of(group, streams, "messages", clock);
  return StreamEvent(clock.start_apart(messages.index(), read));
}

}  // namespace simmesh
