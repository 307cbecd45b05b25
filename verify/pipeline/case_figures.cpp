#include "verify/pipeline/case_figures.h"

#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "verify/case_bits.h"

namespace simmesh {

namespace {

struct SumsOfValues {
  double sum = 0;
  double abs_sum = 0;

  explicit SumsOfValues(const std::vector<double>& values) {
    for (double value : values) {
      sum += value;
      abs_sum += std::abs(value);
    }
  }
};

schema::Fields summary_fields() {
  using namespace schema;
  return {expected("sum", number()), expected("abs_sum", number()),
          expected("first", number()).or_absent(), expected("last", number()).or_absent()};
}

// FigureCheck compares single numbers of a tensor.
struct FigureCheck {
  CaseReport& report;
  const std::string& what;

  void near(const std::string& figure, const CaseField& expected, double actual,
            const FigureTolerance& tolerance, double magnitude) const {
    double wanted = expected.number();
    if (!tolerance.holds(wanted, actual, magnitude))
      report.mismatch(fmt::format("{}: {}: expected {}, got {}", what, figure, wanted, actual));
  }

  void ends(const CaseField& field, const std::vector<double>& values,
            const FigureTolerance& tolerance) const {
    bool has_ends = field.has("first") && field.has("last");
    if (!report.expect_equal(what + ": has elements", has_ends, !values.empty()) || !has_ends)
      return;
    near("first", field["first"], values.front(), tolerance, field["first"].number());
    near("last", field["last"], values.back(), tolerance, field["last"].number());
  }
};

}  // namespace

Schema tensor_figures_schema(bool has_tolerance) {
  using namespace schema;
  Field bits = expected("hash", hash());
  if (has_tolerance) bits = bits.because("sums in another order have other bits");
  Fields summary = summary_fields();
  summary.insert(summary.begin(), bits);
  return object_of({{"values", {bits, expected("values", list(number()))}}, {"sum", summary}});
}

Schema summary_schema() { return schema::object(summary_fields()); }

bool FigureTolerance::holds(double expected, double actual, double magnitude) const {
  return actual == expected || std::abs(actual - expected) <= each + share * std::abs(magnitude);
}

void expect_figures(CaseReport& report, const std::string& what, const CaseField& field,
                    const Tensor& tensor, double tolerance) {
  if (tolerance == 0) report.expect_equal(what, field["hash"].text(), bits_text(tensor));
  std::vector<double> values = known_doubles(tensor);
  FigureCheck check{report, what};
  if (auto listed = field.find("values")) {
    std::vector<CaseField> expected = listed->items();
    if (!report.expect_equal(what + ": number of values", expected.size(), values.size())) return;
    for (std::size_t i = 0; i < values.size(); ++i)
      check.near(fmt::format("element {}", i), expected[i], values[i], {.each = tolerance}, 0);
    return;
  }
  SumsOfValues sums(values);
  auto count = double(values.size());
  FigureTolerance of_sum{.each = tolerance * count + 0x1p-52 * count * sums.abs_sum};
  check.near("sum", field["sum"], sums.sum, of_sum, 0);
  check.near("abs_sum", field["abs_sum"], sums.abs_sum, of_sum, 0);
  check.ends(field, values, {.each = tolerance});
}

void expect_summary(CaseReport& report, const std::string& what, const CaseField& field,
                    const Tensor& tensor, const FigureTolerance& tolerance) {
  std::vector<double> values = known_doubles(tensor);
  SumsOfValues sums(values);
  FigureCheck check{report, what};
  double magnitude = field["abs_sum"].number();
  check.near("sum", field["sum"], sums.sum, tolerance, magnitude);
  check.near("abs_sum", field["abs_sum"], sums.abs_sum, tolerance, magnitude);
  check.ends(field, values, tolerance);
}

}  // namespace simmesh
