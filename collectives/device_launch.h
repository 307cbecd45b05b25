#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>

#include "collectives/collective_call.h"
#include "collectives/exchange.h"
#include "collectives/process_group.h"
#include "core/clock/stream.h"

namespace simmesh {

// CollectiveSize has the values on which the price of a collective depends.
struct CollectiveSize {
  CollectiveOp op = CollectiveOp::barrier;
  double bytes = 0;  // of one member's operands
  std::int64_t members = 0;
  Link link = {};
};

// collective_us is the time of a collective from the moment when its last member is ready, by the
// formula of Topology that its CollectivePrice names.
double collective_us(const CollectiveSize& size, const Topology& topology);

// collective_us returns the time of a call. The ranks of a host, numbered one after another, share
// the fast links.
double collective_us(const CollectiveCall& call, const ProcessGroup& group,
                     const DeviceModel& model);

// DeviceLaunch is a collective as a launch of a simulated device. It owns the operands and results
// of the launch. The arrival has joined its exchange.
class DeviceLaunch {
 public:
  DeviceLaunch(const ProcessGroup& group, const Arrival& arrival, gsl::span<const Tensor> results,
               const Clock& clock);
  DeviceLaunch(const DeviceLaunch&) = delete;
  DeviceLaunch& operator=(const DeviceLaunch&) = delete;

  const Launch& launch() const { return launch_; }

 private:
  CollectiveKey key_;
  boost::container::small_vector<MemoryRange, 2> reads_, writes_;
  Launch launch_;
};

// run_on_device launches a collective that has completed, with its results, on the current stream.
void run_on_device(const ProcessGroup& group, const Arrival& arrival,
                   gsl::span<const Tensor> results, Clock& clock);

// DeviceStart is a collective that is started without waiting for it.
struct DeviceStart {
  const ProcessGroup& group;
  const Arrival& arrival;
  const CollectiveCall& call;  // with the caller's own operands
  const Tensor& into;          // undefined for none
  bool on_current_stream = false;
};

// start_on_device launches a collective on the communicator's stream, unless it is to be on the
// current one. Returns the event for which a wait must let the current stream wait; none where the
// collective is on that stream itself.
StreamEvent start_on_device(const DeviceStart& start, Clock& clock);

// sent_from_device returns the times of a message to a member of the group, as its sender knows
// them: the message is under way from now on, at the cost of the link between the two.
std::shared_ptr<MessageTimes> sent_from_device(const Tensor& tensor, std::size_t to,
                                               const ProcessGroup& group, Clock& clock);

// MessageEnd is a received message, as its sender or receiver sees it: the sender reads the tensor,
// the receiver writes it.
struct MessageEnd {
  bool is_received = false;
  CallSite site;
  const Tensor& tensor;
  const MessageTimes& times;
};

// run_on_device launches a message on the current stream, for a side that waits for it.
void run_on_device(const MessageEnd& message, Clock& clock);

// start_send_on_device launches the read of a message's tensor, on a stream of the group's
// messages, and returns the event after which the tensor may be written.
StreamEvent start_send_on_device(const Tensor& tensor, const ProcessGroup& group,
                                 const CallSite& site, Clock& clock);

// communicator_stream returns the stream of a group's collectives that are started asynchronously.
Stream communicator_stream(const ProcessGroup& group, Clock& clock);

}  // namespace simmesh
