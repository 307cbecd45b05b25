#pragma once

#include <functional>
#include <gsl/span>
#include <string>
#include <vector>

#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/zero_cost/copy_schedule.h"

namespace simmesh::checkpoint {

// StagedState is a copy of what a rank has of a StateDict, in the host's memory: what a writer
// writes while training goes on. Values that are no tensors are copied at once, bytes of tensors
// part by part. It knows when a tensor was changed since, so a copy is never torn.
//
//   checkpoint::StagedState staged(state);
//   for (const checkpoint::CopyRange& range : staged.ranges()) staged.copy(range);
//   staged.check_unchanged();
//   checkpoint::save(staged.state(), checkpoint::Directory("run4/step_10"));
class StagedState {
 public:
  // Makes room for the tensors, and copies nothing of them.
  explicit StagedState(const StateDict& source);

  // ranges are the bytes to copy: of each tensor of which the rank has some, in order. A range's
  // buffer is the tensor's place among these.
  const std::vector<CopyRange>& ranges() const { return ranges_; }
  std::int64_t bytes() const;
  const std::string& name_of(std::size_t buffer) const { return tensors_[buffer].name; }

  // copy copies some bytes of a tensor.
  void copy(const CopyRange& range);
  void copy(gsl::span<const CopyRange> ranges);
  // copy_now copies a whole tensor, which may be written from then on.
  void copy_now(const CopyRange& range);
  // launch_copy puts the copy of some bytes on the current stream of the simulated device, if there
  // is one.
  void launch_copy(gsl::span<const CopyRange> ranges) const;

  // check_unchanged raises a RuntimeError that names the first tensor that was written since this
  // was made.
  void check_unchanged() const;

  // state returns the copy: names and layouts are those of the source.
  const StateDict& state() const { return state_; }

 private:
  struct StagedTensor {
    std::string name;
    Tensor source, copy;
    std::uint32_t changes = 0;  // of the source
    bool may_change = false;
    std::vector<std::byte> packed = {};  // where its elements don't lie together
  };

  Tensor room_for(const std::string& name, const Tensor& source);

  StateDict state_;
  std::vector<StagedTensor> tensors_;
  std::vector<CopyRange> ranges_;
};

}  // namespace simmesh::checkpoint
