#pragma once

#include <optional>
#include <vector>

#include "sharding/placement/placement.h"
#include "verify/case_report.h"
#include "verify/pytorch/ops/aten_operator.h"
#include "verify/schema.h"

namespace simmesh {

// FunctionStep is one operator of a function that PyTorch composes of several: the placements that
// its tensors had, those on which it ran, and those of its results; none for a plain tensor.
struct FunctionStep {
  AtenOperator op;
  std::vector<std::optional<Placements>> given, used, outputs;

  // is_view is true for an operator that computes nothing: a program may view a tensor otherwise.
  bool is_view() const;
  bool redistributes() const { return given != used; }
};

// steps_schema_of_function describes a list of steps, of which each list of placements is `placed`.
Schema steps_schema_of_function(const Schema& placed);

// read_function_steps reads the steps of a case. Raises a BadCase where placements aren't one for
// each mesh dim, or where a step runs on other tensors than it got.
std::vector<FunctionStep> read_function_steps(const CaseField& field, std::size_t mesh_dims);

// expect_flow compares what a step gets with what there is: each tensor is an input or the result
// of an earlier step, and so is each result of the call.
void expect_flow(const std::vector<FunctionStep>& steps, const std::vector<Placements>& inputs,
                 const std::vector<Placements>& results, CaseReport& report);

}  // namespace simmesh
