#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "collectives/work.h"
#include "core/clock/stream.h"
#include "fsdp/param.h"

namespace simmesh::fsdp {

// AllGather is how a group gathers: it gets this rank's flat part and returns the handle of a
// gather over the group.
using AllGather = std::function<Work(const Tensor& part, const ProcessGroup& group)>;

// GatherStreams are where a gather copies its input and communicates. An asynchronous one
// communicates on a stream of the communicator's own.
struct GatherStreams {
  Stream copy_in;
  Stream gather;
  bool is_async = false;
  bool records_streams = false;  // a fault: see StreamFaults
};

// PendingGather is a gather of all parameters of a group that was started: one flat buffer to which
// each rank gives its padded shards one after another, in the compute dtype; as bytes where dtypes
// differ. The buffer is allocated when the gather starts, on the stream that copies in; the input
// is this rank's part of it.
class PendingGather {
 public:
  // The parameters must outlive the gather. A group of one rank communicates nothing.
  PendingGather(const std::vector<std::unique_ptr<FSDPParam>>& params, const ProcessGroup& group,
                const AllGather& all_gather, const GatherStreams& streams);

  // input is this rank's part; communicates says whether there is a collective.
  const Tensor& input() const { return input_; }
  std::int64_t output_numel() const { return input_.element_count() * ranks_; }
  bool communicates() const { return ranks_ > 1; }
  bool is_async() const { return is_async_; }

  // finish waits and gives each parameter its rows, on the current stream; returns the gathered
  // buffer. Without wait_on_stream the current stream goes on at once, which is a fault.
  Tensor finish(const std::vector<std::unique_ptr<FSDPParam>>& params, bool wait_on_stream = true);
  // drop waits and forgets what came.
  void drop();

 private:
  struct Part {
    std::size_t bytes;
    DType dtype;
  };

  void copy_in(const std::vector<std::unique_ptr<FSDPParam>>& params, const ProcessGroup& group,
               bool allocates_output);

  std::vector<Part> parts_;
  std::int64_t ranks_;
  bool is_async_;
  Tensor input_, output_;
  Work work_;
  StreamEvent gathered_;
};

}  // namespace simmesh::fsdp
