#pragma once

#include <functional>
#include <gsl/span>
#include <string>
#include <vector>

#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/zero_cost/copy_schedule.h"

namespace simmesh::checkpoint {

// StagedState is a copy of a rank's part of a StateDict in the host's memory, for a writer that
// runs beside training. Values that are no tensors are copied at once, bytes of tensors part by
// part. It notices later changes of the tensors, so a copy is never torn.
//
//   checkpoint::StagedState staged(state);
//   for (const checkpoint::CopyRange& range : staged.ranges()) staged.copy(range);
//   staged.check_unchanged();
//   checkpoint::save(staged.state(), checkpoint::Directory("run4/step_10"));
class StagedState {
 public:
  // Allocates the copies of tensors, and copies no bytes.
  explicit StagedState(const StateDict& source);

  // ranges returns the bytes to copy: one range for each tensor with elements on this rank, in
  // order. A range's buffer is the index of the tensor among these.
  const std::vector<CopyRange>& ranges() const { return ranges_; }
  std::int64_t bytes() const;
  const std::string& name_of(std::size_t buffer) const { return tensors_[buffer].name; }

  // copy copies a range of a tensor.
  void copy(const CopyRange& range);
  void copy(gsl::span<const CopyRange> ranges);
  // copy_now copies a whole tensor. The tensor may change from then on.
  void copy_now(const CopyRange& range);
  // launch_copy puts the copy of that many bytes on the current stream of the simulated device, if
  // there is one.
  void launch_copy(gsl::span<const CopyRange> ranges) const;

  // check_unchanged raises a RuntimeError that names the first tensor that was written since this
  // object was made.
  void check_unchanged() const;

  // state returns the copy, with the names and layouts of the source.
  const StateDict& state() const { return state_; }

 private:
  struct StagedTensor {
    std::string name;
    Tensor source, copy;
    std::uint32_t changes = 0;  // of the source
    bool may_change = false;
    std::vector<std::byte> packed = {};  // its elements, if they aren't contiguous
  };

  Tensor room_for(const std::string& name, const Tensor& source);

  StateDict state_;
  std::vector<StagedTensor> tensors_;
  std::vector<CopyRange> ranges_;
};

}  // namespace simmesh::checkpoint
