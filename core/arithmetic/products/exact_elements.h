#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/arithmetic/products/product_request.h"

namespace simmesh {

// LineBits are the bits that the elements of a line take up: all are multiples of 2^lowest and
// below 2^highest in magnitude. For a line of zeros lowest equals highest.
struct LineBits {
  int lowest = 0;
  int highest = 0;
  bool is_finite = true;

  int span() const { return highest - lowest; }
};

// line_bits measures doubles.
LineBits line_bits(gsl::span<const double> line);

// operand_line copies a row of an operand as doubles.
void operand_line(const ProductOperand& operand, std::int64_t row, std::vector<double>& line);

// ExactElements computes single elements of a floating product: correctly rounded, whatever the
// magnitudes. Lines of the operands are kept from one element to the next.
class ExactElements {
 public:
  // The product must outlive this object.
  explicit ExactElements(const Product& product);

  // rounded returns element (i, j) rounded once to the result's dtype.
  double rounded(std::int64_t i, std::int64_t j);

  // rounded returns the element where a chain of fused multiply-adds in double gave `chain`: at
  // once where no operation of the chain can have rounded, or where the sum isn't finite.
  double rounded(std::int64_t i, std::int64_t j, double chain);

 private:
  // The bits of each line of an operand, once they were needed.
  struct Lines {
    ProductOperand operand;
    std::size_t count = 0, depth = 0;
    std::vector<double> line;
    std::int64_t current = -1;
    std::vector<LineBits> bits;
    std::vector<bool> is_known;

    const double* at(std::int64_t index);
    const LineBits& bits_of(std::int64_t index);
  };

  const Product& product_;
  Lines rows_, columns_;
  int depth_bits_;
};

}  // namespace simmesh
