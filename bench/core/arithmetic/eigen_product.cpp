#include "bench/core/arithmetic/eigen_product.h"

#include <Eigen/Core>

namespace simmesh {

void eigen_product(const Product& p) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<const Rows> a(reinterpret_cast<const float*>(p.a.data), p.rows, p.depth);
  Eigen::Map<Rows> c(reinterpret_cast<float*>(p.result), p.rows, p.columns);
  const float* b = reinterpret_cast<const float*>(p.b.data);
  if (p.b.column_stride == 1)
    c.noalias() = a * Eigen::Map<const Rows>(b, p.depth, p.columns);
  else
    c.noalias() = a * Eigen::Map<const Rows>(b, p.columns, p.depth).transpose();
}

}  // namespace simmesh
