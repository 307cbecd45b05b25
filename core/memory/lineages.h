#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "core/memory/owner_count.h"

namespace simmesh {

class Tensor;
class Tracking;

// Lineages are what the tape keeps of tensors that share a storage and were plain when one of them
// became the result of a recorded change in place. A lineage is a tensor with its views and views
// of those, as PyTorch's base and views; `detach` begins another one. This is a virtual seam
// because the tape stands far above memory: core/autograd has the one implementation.
class Lineages : public boost::intrusive_ref_counter<Lineages, OwnerCount> {
 public:
  virtual ~Lineages() = default;

  // find returns the tape's part of a tensor of this storage, null where its lineage has none.
  virtual boost::intrusive_ptr<Tracking> find(const Tensor& tensor) = 0;
};
using LineagesPtr = boost::intrusive_ptr<Lineages>;

}  // namespace simmesh
