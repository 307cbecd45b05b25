#include <map>

#include <simmesh/collectives/device_launch.h>
#include <simmesh/collectives/group.h>
#include <simmesh/collectives/topology.h>
#include <simmesh/core/tensor/launch.h>

namespace simmesh {

namespace {

// The communicators' streams of one rank, by group.
struct CommunicatorStreams {
  std::map<std::uint32_t, Stream> by_group;
};

Topology topology_of(const DeviceModel& model) {
  return {.devices_per_host = model.devices_per_host,
          .bandwidth_intra_gb_s = model.link_intra_gb_s,
          .bandwidth_inter_factor = model.link_inter_factor,
          .latency_intra_us = model.link_latency_intra_us,
          .latency_inter_us = model.link_latency_inter_us,
          .base_us = model.collective_base_us};
}

bool is_on_one_host(const ProcessGroup& group, std::int64_t devices_per_host) {
  const RankList& members = group.members();
  std::int64_t host = std::int64_t(members[0]) / devices_per_host;
  for (std::int64_t i = 1; i < members.size(); ++i)
    if (std::int64_t(members[i]) / devices_per_host != host) return false;
  return true;
}

}  // namespace

double collective_us(const CollectiveCall& call, const ProcessGroup& group,
                     const DeviceModel& model) {
  Topology topology = topology_of(model);
  bool is_inside = is_on_one_host(group, model.devices_per_host);
  Link link = is_inside ? Link{topology.bandwidth_intra_gb_s, topology.latency_intra_us}
                        : Link{topology.bandwidth_intra_gb_s * topology.bandwidth_inter_factor,
                               topology.latency_inter_us};
  double bytes = 0;
  for (const Tensor& input : call.inputs) bytes += double(input.bytes());
  std::int64_t members = group.size();
  switch (call.op) {
    case CollectiveOp::barrier:
    case CollectiveOp::all_reduce: return topology.all_reduce_us(bytes, members, link);
    case CollectiveOp::reduce:
    case CollectiveOp::reduce_scatter: return topology.reduce_scatter_us(bytes, members, link);
    case CollectiveOp::all_gather:
    case CollectiveOp::all_gather_list:
    case CollectiveOp::gather:
      return topology.all_gather_us(bytes * double(members), members, link);
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object:
    case CollectiveOp::scatter: return topology.all_gather_us(bytes, members, link);
    case CollectiveOp::all_to_all:
    case CollectiveOp::all_to_all_list: return topology.all_to_all_us(bytes, members, link);
  }
  return 0;
}

DeviceLaunch::DeviceLaunch(const ProcessGroup& group, const Arrival& arrival,
                           gsl::span<const Tensor> results, const Clock& clock)
    : key_{.group = group.group().id(),
           .sequence = arrival.sequence,
           .members = group.group().count_run()} {
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
  auto& streams = group.owner().state<CommunicatorStreams>().by_group;
  auto found = streams.find(group.group().id());
  if (found != streams.end()) return found->second;
  Stream stream(clock.make_stream("communicator " + group.name()));
  return streams.emplace(group.group().id(), stream).first->second;
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

}  // namespace simmesh
