#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <simmesh/collectives/work.h>
#include <simmesh/fsdp/param.h>

namespace simmesh::fsdp {

// AllGather is how a group gathers: it gets this rank's flat part and returns the handle of a
// gather over the group.
using AllGather = std::function<Work(const Tensor& part, const ProcessGroup& group)>;

// PendingGather is a gather of all parameters of a group that was started: one flat buffer to which
// each rank gives its padded shards one after another, in the compute dtype; as bytes where dtypes
// differ.
class PendingGather {
 public:
  // The parameters must outlive the gather. A group of one rank communicates nothing.
  PendingGather(const std::vector<std::unique_ptr<FSDPParam>>& params, const ProcessGroup& group,
                const AllGather& all_gather);

  // input is this rank's part; communicates says whether there is a collective.
  const Tensor& input() const { return input_; }
  std::int64_t output_numel() const { return input_.element_count() * ranks_; }
  bool communicates() const { return ranks_ > 1; }

  // finish waits and gives each parameter its rows; returns the gathered buffer.
  Tensor finish(const std::vector<std::unique_ptr<FSDPParam>>& params);
  // drop waits and forgets what came.
  void drop();

 private:
  struct Part {
    std::size_t bytes;
    DType dtype;
  };

  std::vector<Part> parts_;
  std::int64_t ranks_;
  Tensor input_;
  Work work_;
};

}  // namespace simmesh::fsdp
