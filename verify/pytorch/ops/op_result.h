#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/placement/placement.h"
#include "verify/case_report.h"
#include "verify/pytorch/ops/python_value.h"
#include "verify/schema.h"

namespace simmesh {

// RecordedResult is one result of a case: a value that is no tensor, or shape, dtype and
// placements. It has the shape of each rank's piece, and its bits or values; and the same of the
// whole tensor.
struct RecordedResult {
  std::optional<PythonValue> value;
  Shape shape;
  DType dtype = DType::float32;
  bool is_complex = false;               // tensors have one more dim, of size two
  std::optional<Placements> placements;  // none for a plain tensor
  std::vector<Shape> local_shapes;       // by rank
  std::vector<std::string> hashes;       // by rank; empty where values are compared, or nothing
  std::vector<std::vector<double>> values;
  std::optional<std::string> full_hash;
  std::optional<std::vector<double>> full_values;
  std::optional<std::size_t> input;  // the input whose gradient it is
};

// ActualResult is a result of one rank.
struct ActualResult {
  std::optional<PythonValue> value;  // of a result that is no tensor
  Shape shape;
  DType dtype = DType::float32;
  std::optional<Placements> placements;
  Tensor local;
  Tensor full;

  bool is_there() const { return value.has_value() || local.is_defined(); }
};

// result_schema describes one result; as a gradient it also has the input.
Schema result_schema(bool is_gradient = false);

// read_result reads a result for a world of that size. Raises a BadCase for lists of another
// length.
RecordedResult read_result(const CaseField& field, std::int64_t world);

// read_case_placements reads placements as these cases write them, where _NormP(p) is NormP(p).
Placements read_case_placements(const CaseField& field);
Schema case_placements_schema();

// result_of takes apart the results of a call. The ranks of its mesh collect the whole tensor of a
// distributed one.
ActualResult result_of(const PythonValue& value);

// Closeness bounds the distance of values: |a - b| <= relative * |b| + absolute.
struct Closeness {
  double relative = 0;
  double absolute = 0;
};

// difference_in_values returns in words the difference of values; empty where they are close.
std::string difference_in_values(const std::vector<double>& expected, const Tensor& tensor,
                                 const Closeness& closeness);

std::string difference_in_values(const Tensor& expected, const Tensor& tensor,
                                 const Closeness& closeness);
// same_value is true if two results that are no tensors are one bool or number.
bool same_value(const PythonValue& expected, const PythonValue& actual);

// ResultDifferences are in words: differences of the plan, which a cheaper plan may have, and
// differences of the result.
struct ResultDifferences {
  std::vector<std::string> of_plan;
  std::vector<std::string> of_values;
};

// compare_result adds the differences between a rank's result and the recorded one. Local pieces
// differ as the plan does.
struct RankOfResult {
  std::size_t rank = 0;
  Closeness closeness;
  std::string what;  // "output 0"
};
void compare_result(const RecordedResult& expected, const ActualResult& actual,
                    const RankOfResult& at, ResultDifferences& differences);

// bits_without_signs_of_zero returns the hash of a tensor in which each zero is positive and each
// NaN the positive quiet one.
std::string bits_without_signs_of_zero(const Tensor& tensor);

}  // namespace simmesh
