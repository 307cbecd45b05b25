#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/work.h"
#include "core/clock/stream.h"
#include "fsdp/communication/communication.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

// GatherStreams are the streams on which a gather copies its input and communicates. An
// asynchronous one communicates on a stream of the communicator's own.
struct GatherStreams {
  Stream copy_in;
  Stream gather;
  bool is_async = false;
  CallSite site = {};  // which reports show
};

// PendingGather is a started gather of all parameters of a group: one flat buffer, to which each
// rank sends its padded shards one after another, in the compute dtype; as bytes where dtypes
// differ. The buffer is allocated when the gather starts, on the stream that copies in; the input
// is this rank's part of it.
class PendingGather {
 public:
  // The parameters must outlive the gather. A group of one rank communicates nothing.
  PendingGather(const std::vector<std::unique_ptr<FSDPParam>>& params, const ProcessGroup& group,
                const AllGather& all_gather, const GatherStreams& streams);

  // input is this rank's part; communicates is true if there is a collective.
  const Tensor& input() const { return input_; }
  std::int64_t output_numel() const { return input_.numel() * ranks_; }
  bool communicates() const { return ranks_ > 1; }
  bool is_async() const { return is_async_; }
  // gathered is the event that a stream waits for before it copies out.
  const StreamEvent& gathered() const { return gathered_; }

  // finish gives each parameter its rows, on the current stream, which has waited for the gather;
  // returns the gathered buffer.
  Tensor finish(const std::vector<std::unique_ptr<FSDPParam>>& params);
  // drop waits, and drops the gathered buffer.
  void drop();

 private:
  struct Part {
    std::size_t bytes;
    DType dtype;
  };

  std::vector<Tensor> take_parts(const std::vector<std::unique_ptr<FSDPParam>>& params);
  void copy_in(const std::vector<std::unique_ptr<FSDPParam>>& params, const ProcessGroup& group,
               const AllGather& all_gather);
  void join_parts(const std::vector<Tensor>& parts, const ProcessGroup& group,
                  const AllGather& all_gather);
  Work start(const ProcessGroup& group, const AllGather& all_gather, const CallSite& site) const;

  std::string contents_;  // the parameters' names
  std::vector<Part> parts_;
  std::int64_t ranks_;
  bool is_async_;
  Tensor input_, output_;
  Work work_;
  StreamEvent gathered_;
};

}  // namespace simmesh::fsdp
