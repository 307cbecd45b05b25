#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/placement/placement.h"
#include "verify/case_report.h"
#include "verify/pytorch/ops/python_value.h"
#include "verify/schema.h"

namespace simmesh {

// RecordedResult is what a case holds of one result: a value that is no tensor, or shape, dtype and
// placements, and of each rank the shape and the bits, or values, of its piece; the same of the
// whole tensor.
struct RecordedResult {
  std::optional<PythonValue> value;
  Shape shape;
  DType dtype = DType::float32;
  bool is_complex = false;               // a last dim of two more than the shape says
  std::optional<Placements> placements;  // none for a plain tensor
  std::vector<Shape> local_shapes;       // a rank
  std::vector<std::string> hashes;       // a rank; empty where values are compared, or nothing
  std::vector<std::vector<double>> values;
  std::optional<std::string> full_hash;
  std::optional<std::vector<double>> full_values;
  std::optional<std::size_t> input;  // whose gradient it is
};

// ActualResult is what one rank got.
struct ActualResult {
  std::optional<PythonValue> value;  // of a result that is no tensor
  Shape shape;
  DType dtype = DType::float32;
  std::optional<Placements> placements;
  Tensor local;
  Tensor full;

  bool is_there() const { return value.has_value() || local.is_defined(); }
};

// result_schema is one result; as a gradient it also has the input.
Schema result_schema(bool is_gradient = false);

// read_result reads one for a world of that size. Raises a BadCase for lists of another length.
RecordedResult read_result(const CaseField& field, std::int64_t world);

// read_case_placements reads placements as these cases write them, where _NormP(p) is NormP(p).
Placements read_case_placements(const CaseField& field);
Schema case_placements_schema();

// result_of takes apart what a call returned; the whole tensor of a distributed one is collected,
// by all ranks of its mesh.
ActualResult result_of(const PythonValue& value);

// Closeness says how near values come: |a - b| <= relative * |b| + absolute.
struct Closeness {
  double relative = 0;
  double absolute = 0;
};

// difference_in_values says in words how values differ; empty where they are close.
std::string difference_in_values(const std::vector<double>& expected, const Tensor& tensor,
                                 const Closeness& closeness);

std::string difference_in_values(const Tensor& expected, const Tensor& tensor,
                                 const Closeness& closeness);
// same_value says whether two results that are no tensors are one bool or number.
bool same_value(const PythonValue& expected, const PythonValue& actual);

// ResultDifferences are in words: those of the plan, which a cheaper plan may have, and those of
// the result.
struct ResultDifferences {
  std::vector<std::string> of_plan;
  std::vector<std::string> of_values;
};

// compare_result adds how a rank's result differs from the recorded one. Local pieces differ as the
// plan does.
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
