#pragma once

#include <string>

#include "core/tensor/tensor.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// tensor_figures_schema is what a case records of a tensor: its hash with all its values, or with
// sum, abs_sum, first and last. A hash isn't compared where there is a tolerance.
Schema tensor_figures_schema(bool has_tolerance);

// summary_schema is sum, abs_sum, first and last alone.
Schema summary_schema();

// FigureTolerance bounds a difference: of each element, and as a share of the magnitude.
struct FigureTolerance {
  double each = 0.0;
  double share = 0.0;

  bool holds(double expected, double actual, double magnitude) const;
};

// expect_figures compares a tensor with what is recorded. Without a tolerance the hash counts too;
// a sum may be off by the tolerance of each element, and by the roundings of the addition.
void expect_figures(CaseReport& report, const std::string& what, const CaseField& field,
                    const Tensor& tensor, double tolerance);

// expect_summary compares sum, abs_sum, first and last, where shares are of abs_sum for the sums.
void expect_summary(CaseReport& report, const std::string& what, const CaseField& field,
                    const Tensor& tensor, const FigureTolerance& tolerance);

}  // namespace simmesh
