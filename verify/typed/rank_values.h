#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "sharding/typed/conversion.h"
#include "sharding/typed/spmd_type.h"

namespace simmesh {

// RankGrid is the ranks of a mesh, row-major.
class RankGrid {
 public:
  explicit RankGrid(std::vector<typed::MeshAxis> axes);

  std::size_t count() const { return count_; }
  const std::vector<typed::MeshAxis>& axes() const { return axes_; }
  // coordinate returns the place of a rank along an axis.
  std::int64_t coordinate(std::size_t rank, const std::string& axis) const;
  // lines returns the ranks along the axes, taken as one, for each place of the others.
  std::vector<std::vector<std::size_t>> lines(const std::vector<std::string>& axes) const;
  // name_of returns a rank as a report shows it: "rank (1, 0)".
  std::string name_of(std::size_t rank) const;

 private:
  std::vector<typed::MeshAxis> axes_;
  std::size_t count_ = 1;
};

// RankValues are the tensors of all ranks.
using RankValues = std::vector<Tensor>;

// meaning_of returns what the tensors of the ranks along an axis stand for by their type: the value
// of R and I, the sum of P, the concatenation of S(d), and the stack of V.
Tensor meaning_of(const std::vector<Tensor>& line, const typed::TypeOnAxis& type);

// run_conversion makes a conversion of spmd_types on the tensors of all ranks, as the package does.
// Raises a ValueError where a dim can't be cut into equal pieces.
RankValues run_conversion(const RankGrid& grid, const typed::Conversion& call,
                          const RankValues& values);

// adjoint_of returns the derivative of a sum of the ranks' results with respect to the operand on
// each rank, where `gradient` is that with respect to the results.
RankValues adjoint_of(const RankGrid& grid, const typed::Conversion& call,
                      const RankValues& gradient);

// same_values is true where two tensors have equal shapes and elements; NaN equals NaN.
bool same_values(const Tensor& a, const Tensor& b);

}  // namespace simmesh
