#pragma once

#include <cstdint>
#include <gsl/pointers>
#include <memory>
#include <vector>

#include "fsdp/communication/comm_streams.h"

namespace simmesh::fsdp {

class FSDPState;
class FSDPParamGroup;
struct StateContext;

// GradientReduction is a finalisation of backward that wasn't waited for, with its tree.
struct GradientReduction {
  const StateContext* owner;
};

// CommContext is shared by all groups below one root, or below several roots that share it: the
// streams on which they communicate, and the order of their forwards, from which backward takes the
// groups to prefetch. An entry that its root's last backward used up is null; indices stay valid
// until all entries are null.
class CommContext {
 public:
  explicit CommContext(std::unique_ptr<CommStreams> streams = std::make_unique<CommStreams>())
      : streams_(std::move(streams)) {}

  // record_forward appends a group of a state and returns its index.
  std::int64_t record_forward(FSDPParamGroup& group, const FSDPState& state);
  // group_at returns the group at an index, null outside the order and where it was used up.
  FSDPParamGroup* group_at(std::int64_t index) const;
  // forget_forwards drops the entries of all groups of some states.
  void forget_forwards(const std::vector<FSDPState*>& states);
  // has_forwards_besides is true if there are entries of other states.
  bool has_forwards_besides(const std::vector<FSDPState*>& states) const;

  // active_reduction is a finalisation that wasn't waited for, of one of the roots; null if there
  // is none.
  const std::shared_ptr<GradientReduction>& active_reduction() const { return reduction_; }
  void set_active_reduction(std::shared_ptr<GradientReduction> reduction) {
    reduction_ = std::move(reduction);
  }

  CommStreams& streams() { return *streams_; }

 private:
  struct Forward {
    FSDPParamGroup* group;
    const FSDPState* state;
  };

  std::vector<Forward> forwards_;
  std::shared_ptr<GradientReduction> reduction_;
  gsl::not_null<std::unique_ptr<CommStreams>> streams_;
};

}  // namespace simmesh::fsdp
