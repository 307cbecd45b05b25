#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <gsl/span>
#include <memory>
#include <vector>

#include "core/memory/owner_count.h"
#include "core/tensor/shape.h"

namespace simmesh {

class Tensor;
struct Op;
struct OpCall;

// AttachedViews are the views of tensors that are recorded on the tape or cut over a mesh: the
// methods of Tensor call it for those, so that no gradient is lost and no shard is taken for the
// whole. This is a virtual seam because a view of an attached tensor is an op, and core/tensor
// stands below the ops: core/ops/shapes has the one implementation (op_views).
class AttachedViews {
 public:
  virtual ~AttachedViews() = default;
  virtual Tensor narrow(const Tensor& x, const NarrowRange& range) const = 0;
  virtual Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) const = 0;
  virtual Tensor permute(const Tensor& x, DimSpan dims) const = 0;
  virtual Tensor unsqueeze(const Tensor& x, std::int64_t dim) const = 0;
  virtual Tensor squeeze(const Tensor& x, std::int64_t dim) const = 0;
  virtual Tensor view(const Tensor& x, DimSpan shape) const = 0;
  virtual Tensor clone(const Tensor& x) const = 0;
};

// ViewKind says how a tensor was made that is a view of another one of its lineage. The tape
// refuses changes in place that meet the last two, as PyTorch does.
enum class ViewKind : std::uint8_t {
  none,            // not a view
  view,            // by a view op
  one_of_several,  // by an op that makes several views, such as split
  unrecorded,      // while gradients were disabled
};

// made_view returns the kind of a view of a tensor of the given kind: a view inherits what is
// refused.
inline ViewKind made_view(ViewKind of, ViewKind made) {
  return made == ViewKind::view && of != ViewKind::none ? of : made;
}

// InPlaceRecord is a change in place that the tape has prepared and that isn't made yet.
class InPlaceRecord {
 public:
  virtual ~InPlaceRecord() = default;
  // finish makes self, which was changed meanwhile, the output of the call.
  virtual void finish(Tensor& self) = 0;
};

// Tracking is what the tape keeps with a tensor that takes part in differentiation: core/autograd
// has the one implementation. All copies of a tensor share it.
class Tracking : public boost::intrusive_ref_counter<Tracking, OwnerCount> {
 public:
  virtual ~Tracking() = default;
  virtual bool requires_grad() const = 0;
  // record puts the outputs of a call, of which this tensor is an input, on the tape.
  virtual void record(const OpCall& call, gsl::span<Tensor> outputs) const = 0;
  // track_view makes a view of this tensor, of, known that isn't recorded because gradients were
  // disabled.
  virtual void track_view(const Tensor& of, Tensor& view) const = 0;
  // begin_in_place puts a call on the tape whose only output is about to be written into self; it
  // keeps what the call's gradient reads. The call's first input has self's former elements. One of
  // the inputs is this tensor.
  virtual std::unique_ptr<InPlaceRecord> begin_in_place(const OpCall& call,
                                                        const Tensor& self) const = 0;
  // views returns what records the views of the tensor, null where they aren't recorded.
  virtual const AttachedViews* views() const = 0;
  // check_in_place raises where the tape refuses that self, a tensor of any kind, is changed in
  // place by an op of which this tensor is an input.
  virtual void check_in_place(const Op& op, const Tensor& self) const = 0;
};
using TrackingPtr = boost::intrusive_ptr<Tracking>;

// Distribution is what a tensor has that is cut over the ranks of a mesh: `sharding` has the one
// implementation, which runs an op on the local parts. Such a tensor has the logical shape and no
// storage.
class Distribution : public boost::intrusive_ref_counter<Distribution, OwnerCount> {
 public:
  virtual ~Distribution() = default;
  virtual std::vector<Tensor> dispatch(const OpCall& call) const = 0;
  // views returns what runs the views of the tensor.
  virtual const AttachedViews& views() const = 0;
  // local_part returns the rank's own piece, without its part of the tape.
  virtual Tensor local_part() const = 0;
  // is_partial says whether the pieces are parts of sums, or of other reductions.
  virtual bool is_partial() const = 0;
  // saved_output returns what the tape saves of a result with this distribution, without its part
  // of the tape; all ranks of the mesh call it together.
  virtual Tensor saved_output(const Tensor& result) const = 0;
};
using DistributionPtr = boost::intrusive_ptr<const Distribution>;

}  // namespace simmesh
