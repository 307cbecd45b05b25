#include "core/arithmetic/products/exact_product.h"

#include <array>
#include <bit>
#include <utility>

#include "core/arithmetic/products/exact_elements.h"
#include "core/arithmetic/products/product.h"
#include "core/arithmetic/products/wide_chains.h"
#include "core/arithmetic/sums/scratch.h"
#include "core/check/check.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

// RoundedChains rounds sums in double to the result's dtype where their bounds allow only one
// result (Ziv's test), and computes the others exactly. Where the product was transposed, rows of a
// block are columns of the result.
class RoundedChains {
 public:
  RoundedChains(const Product& product, bool transposed_result, const Kernels& kernels)
      : p_(product), kernels_(kernels), elements_(product) {
    row_stride_ = transposed_result ? 1 : product.result_row_stride;
    column_stride_ = transposed_result ? product.result_row_stride : 1;
  }

  void run() {
    WideChains chains(p_, kernels_);
    chains.run([&](const WideBlock& block) {
      if (p_.result_dtype == DType::float32 && column_stride_ == 1)
        round_floats(block, chains);
      else
        visit_dtype(p_.result_dtype, [&]<class R>(R) {
          if constexpr (!std::is_integral_v<R>) round_block<R>(block, chains);
        });
    });
  }

 private:
  static double sum_at(const WideBlock& block, std::int64_t i, std::int64_t j) {
    return block.sums[j / block.width * block.panel_stride + i * block.width + j % block.width];
  }

  template <class R>
  R* out(std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<R*>(p_.result) + i * row_stride_ + j * column_stride_;
  }

  template <class R>
  void settle(const WideBlock& block, std::int64_t i, std::int64_t j) {
    std::int64_t row = block.row + i, column = block.column + j;
    *out<R>(row, column) = rounded_to<R>(elements_.rounded(row, column, sum_at(block, i, j)));
  }

  void round_floats(const WideBlock& block, const WideChains& chains) {
    // The first block is the largest.
    if (!unsettled_) unsettled_ = scratch_.take<std::int32_t>(block.rows * block.columns);
    std::int64_t count =
        kernels_.round_wide({.rows = block.rows,
                             .columns = block.columns,
                             .sums = block.sums,
                             .panel_stride = block.panel_stride,
                             .row_bounds = chains.row_bounds() + block.row,
                             .column_bounds = chains.column_bounds() + block.column,
                             .out = out<float>(block.row, block.column),
                             .out_row_stride = row_stride_,
                             .unsettled = unsettled_});
    for (std::int64_t u = 0; u < count; ++u) {
      std::int64_t element = unsettled_[u];
      settle<float>(block, element / block.columns, element % block.columns);
    }
  }

  template <class R>
  void round_block(const WideBlock& block, const WideChains& chains) {
    for (std::int64_t i = 0; i < block.rows; ++i)
      for (std::int64_t j = 0; j < block.columns; ++j) {
        double sum = sum_at(block, i, j);
        double bound =
            chains.row_bounds()[block.row + i] * chains.column_bounds()[block.column + j];
        R least = rounded_to<R>(sum - bound), most = rounded_to<R>(sum + bound);
        using Bits = std::array<std::byte, sizeof(R)>;
        if (std::bit_cast<Bits>(least) == std::bit_cast<Bits>(most) && sum - sum == 0)
          *out<R>(block.row + i, block.column + j) = most;
        else
          settle<R>(block, i, j);
      }
  }

  const Product& p_;
  const Kernels& kernels_;
  ExactElements elements_;
  std::int64_t row_stride_ = 0, column_stride_ = 0;
  Scratch scratch_;
  std::int32_t* unsettled_ = nullptr;
};

void product_of_elements(const Product& p) {
  ExactElements elements(p);
  visit_dtype(p.result_dtype, [&]<class R>(R) {
    if constexpr (!std::is_integral_v<R>)
      for (std::int64_t i = 0; i < p.rows; ++i)
        for (std::int64_t j = 0; j < p.columns; ++j)
          reinterpret_cast<R*>(p.result)[i * p.result_row_stride + j] =
              rounded_to<R>(elements.rounded(i, j));
  });
}

}  // namespace

void exact_product(const Product& product, InstructionSet set) {
  check_product(product);
  if (!is_floating_point(product.a.dtype)) return canonical_product(product, set);
  SIMMESH_CHECK(!product.adds_to_result, "an exact product that is added to a rounded sum");
  if (product.rows == 0 || product.columns == 0) return;
  if (product.a.dtype == DType::float64 || product.b.dtype == DType::float64 ||
      product.result_dtype == DType::float64)
    return product_of_elements(product);
  const Kernels& kernels = kernels_of(set);
  int lanes = kernels.wide_tile.lanes;
  // Few columns leave most of a vector empty.
  if (product.columns >= lanes || product.columns >= product.rows)
    return RoundedChains(product, false, kernels).run();
  Product turned = product;
  turned.a = transposed(product.b);
  turned.b = transposed(product.a);
  std::swap(turned.rows, turned.columns);
  RoundedChains(turned, true, kernels).run();
}

}  // namespace simmesh
