#pragma once

#include <cstdint>
#include <gsl/span>
#include <initializer_list>

#include <simmesh/core/arithmetic/instruction_set.h>
#include <simmesh/core/tensor/tensor.h>

namespace simmesh {

struct Product;

// CarriedSum is a tensor-shaped sum that is carried as integers on a grid that doesn't depend on
// the data, so that terms added in any order and grouping, over ranks and micro-batches, give one
// result, rounded once at the end. Gradients are carried this way in exact arithmetic.
//
// value = limb[0] * 2^-16 + limb[1] * 2^-67 (+ limb[2] * 2^-118 for float64). A term is rounded
// once, onto the last limb's grid, so terms far below 2^-67 (6.8e-21) vanish. One term may be up to
// 2^35, a sum up to 2^46: beyond, a RuntimeError, from a bound kept over all additions.
// Infinities and NaNs are counted per element (see NonFiniteTerms) and decide its value. In a world
// of shapes only all terms count as finite.
//
//   CarriedSum gradient({n, k}, DType::float32);
//   gradient.add_product(output_gradient.transpose(0, 1), input);     // each micro-batch
//   all-reduce gradient.limbs() as int64 sums, then gradient.replace_limbs(sum, ranks);
//   Tensor mean = gradient.divided_value(tokens);
class CarriedSum {
 public:
  // dtype is that of value: floating.
  CarriedSum(DimSpan shape, DType dtype);
  CarriedSum(std::initializer_list<std::int64_t> shape, DType dtype)
      : CarriedSum(DimSpan(shape.begin(), shape.size()), dtype) {}

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }

  // add adds floating values of the same shape, elementwise.
  void add(const Tensor& values);
  // add_sum adds values with their leading dims, and those where this shape has size 1, summed
  // away.
  void add_sum(const Tensor& values);
  // add_product adds a[m, k] b[k, n], floating, any strides, to the shape [m, n].
  void add_product(const Tensor& a, const Tensor& b, InstructionSet set = best_instruction_set());
  // add_rows adds rows[i] to the element indices[i] of dim 0: the gradient of an embedding. indices
  // is int64 of any shape; rows has that shape, then this one's from dim 1 on.
  void add_rows(const Tensor& indices, const Tensor& rows);
  // add adds a sum of the same shape and dtype.
  void add(const CarriedSum& other);

  // limbs is int64, contiguous, [L, shape...]: what a collective adds.
  const Tensor& limbs() const { return limbs_; }
  Tensor& mutable_limbs() { return limbs_; }
  // replace_limbs takes the int64 sum of the limbs of that many CarriedSums. Each of their owners
  // calls it, so each checks that its own part leaves room for the others.
  void replace_limbs(Tensor limbs, std::int64_t addends);

  // non_finite is int64 [shape] counts of NonFiniteTerms, undefined where all terms were finite.
  // Where a member of a group has it, all members give theirs (zeros for none) to an int64 sum and
  // replace it.
  const Tensor& non_finite() const { return non_finite_; }
  void replace_non_finite(Tensor counts);

  // value rounds the sum once to the dtype; divided_value the sum over n > 0.
  Tensor value() const { return divided_value(1); }
  Tensor divided_value(std::int64_t n) const;

 private:
  void reserve(double magnitude, double terms);
  void make_room(std::int64_t terms);
  void carry();
  void note_non_finite(std::int64_t index, std::int64_t count);
  void add_widened(gsl::span<const double> terms, std::int64_t index);
  void sum_widened(gsl::span<const double> terms, std::int64_t index);
  void add_product_terms(const Product& product, InstructionSet set);

  Shape shape_;
  DType dtype_;
  std::int64_t limb_count_;
  std::int64_t elements_;
  Tensor limbs_;
  Tensor non_finite_;
  double first_bound_ = 0;      // of |limb[0]|
  std::int64_t new_terms_ = 0;  // of any element, since the last carry
};

}  // namespace simmesh
