#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <gsl/span>
#include <vector>

namespace simmesh {

class Tensor;
struct Op;
struct OpCall;

// Tracking is what the tape keeps with a tensor that takes part in differentiation: core/autograd
// has the one implementation. All copies of a tensor share it.
class Tracking : public boost::intrusive_ref_counter<Tracking> {
 public:
  virtual ~Tracking() = default;
  virtual bool requires_grad() const = 0;
  // record makes the outputs of a call, of which this tensor is an input, part of the tape.
  virtual void record(const OpCall& call, gsl::span<Tensor> outputs) const = 0;
  // rebase makes self, into which the call has written its only output, an output of the call.
  virtual void rebase(const OpCall& call, Tensor& self) const = 0;
  // check_in_place raises where the tape couldn't record that the tensor is changed in place.
  virtual void check_in_place(const Op& op) const = 0;
};
using TrackingPtr = boost::intrusive_ptr<Tracking>;

// Distribution is what a tensor has that is cut over the ranks of a mesh: `sharding` has the one
// implementation, which runs an op on the local parts. Such a tensor has the logical shape and no
// storage.
class Distribution : public boost::intrusive_ref_counter<Distribution> {
 public:
  virtual ~Distribution() = default;
  virtual std::vector<Tensor> dispatch(const OpCall& call) const = 0;
  // local_part returns the rank's own piece, apart from the tape.
  virtual Tensor local_part() const = 0;
};
using DistributionPtr = boost::intrusive_ptr<const Distribution>;

}  // namespace simmesh
