#include "core/optim/newton_schulz.h"

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/shapes/views.h"

namespace simmesh::optim {

namespace {

// The coefficients of the quintic polynomial a x + b x^3 + c x^5.
constexpr double quintic_a = 3.4445, quintic_b = -4.7750, quintic_c = 2.0315;

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

// Divides by the Frobenius norm, so that no singular value is above 1.
Tensor normalized(const Tensor& x) {
  return div(x, add(vector_norm(x, 2.0, {-2, -1}, true), 1e-7));
}

// Returns b A + (c A) A.
Tensor of_square(const Tensor& a) { return add(mul(a, quintic_b), matmul(mul(a, quintic_c), a)); }

Tensor iterated(Tensor x, int steps) {
  for (int step = 0; step < steps; ++step)
    x = add(mul(x, quintic_a), matmul(of_square(matmul(x, transposed(x))), x));
  return x;
}

// Returns q x, where q is the product of the polynomials of the Gram matrix, which is made anew
// after two steps. With is_right the result is transposed.
Tensor iterated_gram(Tensor x, int steps, bool is_right) {
  constexpr int restart = 2;
  Tensor gram = matmul(x, transposed(x)), q;
  for (int step = 0; step < steps; ++step) {
    if (step == restart) {
      x = matmul(q, x);
      gram = matmul(x, transposed(x));
      q = Tensor();
    }
    Tensor z = of_square(gram);
    if (q.is_defined()) {
      q = add(mul(q, quintic_a), matmul(z, q));
    } else {
      q = z.clone();
      Tensor places = diagonal(q, {.dim0 = -2, .dim1 = -1});
      copy_(places, add(places, quintic_a));
    }
    if (step + 1 == steps || step + 1 == restart) continue;
    Tensor product = add(mul(gram, quintic_a), matmul(z, gram));
    gram = add(mul(product, quintic_a), matmul(z, product));
  }
  return is_right ? matmul(transposed(x), transposed(q)) : matmul(q, x);
}

}  // namespace

Tensor orthogonalized(const Tensor& given, NewtonSchulz method, int steps,
                      std::optional<DType> dtype) {
  NoGrad mode;
  bool is_gram = method == NewtonSchulz::gram, is_high = given.size(-2) > given.size(-1);
  DType computed = dtype.value_or(is_gram ? DType::float16 : DType::bfloat16);
  Tensor x = is_high ? transposed(given) : given;
  if (is_gram)
    x = to(normalized(x.dtype() == DType::float16 ? to(x, DType::float32) : x), computed);
  else
    x = normalized(to(x, computed));
  if (is_gram && x.size(-1) > x.size(-2)) return iterated_gram(x, steps, is_high);
  x = iterated(x, steps);
  return is_high ? transposed(x) : x;
}

}  // namespace simmesh::optim
