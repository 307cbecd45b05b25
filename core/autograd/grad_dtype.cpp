#include "core/autograd/grad_dtype.h"

namespace simmesh {

GradDtype GradDtype::any() {
  GradDtype policy;
  policy.kind_ = Kind::any;
  return policy;
}

std::optional<DType> GradDtype::dtype_for(DType leaf) const {
  if (kind_ == Kind::any) return std::nullopt;
  return kind_ == Kind::given ? dtype_ : leaf;
}

}  // namespace simmesh
