#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/autograd/variable.h"
#include "core/autograd/view_record.h"

namespace simmesh {

// StorageLineages has the tape's part of plain tensors that share a storage. A plain tensor belongs
// to no tape until a recorded change in place writes to it, or to a tensor of its lineage: then the
// base of the lineage gets a variable, and all tensors of the lineage find it here.
class StorageLineages final : public Lineages {
 public:
  TrackingPtr find(const Tensor& tensor) override;

  // take makes a plain tensor a part of its lineage, so that a change of it in place can be
  // recorded, and gives it its variable.
  static void take(Tensor& tensor);

 private:
  struct Base {
    std::uint32_t lineage;
    VariablePtr variable;
    std::shared_ptr<Geometry> geometry;
    bool is_guessed;  // from a view, since nobody has seen the base
    // The views that were made before the base came to the tape, by their places, once they are
    // asked for: copies of a view share its variable.
    std::vector<std::pair<Geometry, VariablePtr>> views = {};
  };

  TrackingPtr variable_in(Base& base, const Tensor& tensor);
  Base& add(const Tensor& tensor);

  std::vector<Base> bases_;
};

}  // namespace simmesh
