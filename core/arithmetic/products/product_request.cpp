#include "core/arithmetic/products/product_request.h"

#include "core/check/error.h"

namespace simmesh {

void check_product(const Product& p) {
  bool floating = is_floating_point(p.a.dtype);
  bool fits = floating ? is_floating_point(p.b.dtype) && is_floating_point(p.result_dtype)
                       : p.a.dtype == p.b.dtype && p.a.dtype == p.result_dtype &&
                             p.a.dtype != DType::boolean;
  if (!fits)
    raise(ErrorKind::type_error, "arithmetic/product",
          "expected floating operands and result, or all of one integer dtype, got {} and {} to {}",
          to_string(p.a.dtype), to_string(p.b.dtype), to_string(p.result_dtype));
}

}  // namespace simmesh
