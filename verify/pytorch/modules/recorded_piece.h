#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/placement/placement.h"
#include "verify/pytorch/ops/op_result.h"

namespace simmesh {

// RecordedPiece is the record of one tensor of a parallelised module: its placements, none for a
// plain tensor, and for each rank the shape and the bits, or values, of its piece.
struct RecordedPiece {
  std::string name;  // of a parameter; else its role
  std::optional<Placements> placements;
  std::vector<Shape> local_shapes;
  std::vector<std::string> hashes;
  std::vector<std::vector<double>> values;
};

// piece_schema is such a tensor; with_name also has the name of a parameter.
Schema piece_schema(bool with_name = false);

// read_piece reads it for a world of that size. Raises a BadCase for lists of another length.
RecordedPiece read_piece(const CaseField& field, std::int64_t world, std::string name = {});

// compare_piece adds the differences of a rank's tensor from the recorded one to a report; an
// undefined tensor is none.
void compare_piece(const RecordedPiece& expected, const Tensor& actual, const RankOfResult& at,
                   CaseReport& report);

}  // namespace simmesh
