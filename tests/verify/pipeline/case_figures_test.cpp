#include "verify/pipeline/case_figures.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordedCase with_field(const std::string& field) {
  return RecordedCase::parse(R"({"kind":"muon","id":"a","t":)" + field + "}", {.file = "a"});
}

std::vector<std::string> figures_of(const std::string& field, const Tensor& tensor,
                                    double tolerance) {
  CaseReport report;
  RecordedCase recorded = with_field(field);
  expect_figures(report, "t", recorded["t"], tensor, tolerance);
  return report.mismatches();
}

// If this fails, a tensor with other elements passes, or one within the tolerance doesn't.
TEST(CaseFigures, ToleranceCountsForEachElement) {
  Tensor tensor = tensor_of<float>({2}, {1.0F, -3.0F});
  const char* bits = R"({"hash":"0000000000000000","values":[1.25,-3]})";
  EXPECT_THAT(figures_of(bits, tensor, 0.25), IsEmpty());
  EXPECT_THAT(figures_of(bits, tensor, 0.125), ElementsAre(HasSubstr("element 0: expected 1.25")));
  EXPECT_EQ(figures_of(bits, tensor, 0).size(), 2u);
  const char* sums = R"({"sum":-1.5,"abs_sum":4,"first":1,"last":-3})";
  EXPECT_THAT(figures_of(sums, tensor, 0.25), IsEmpty());
  EXPECT_THAT(figures_of(sums, tensor, 0.2), ElementsAre(HasSubstr("sum: expected -1.5")));
  EXPECT_THAT(figures_of(R"({"sum":0,"abs_sum":0})", tensor, 9),
              ElementsAre(HasSubstr("has elements")));
}

// If this fails, a sum whose terms cancel must be exact, or an end may be far off.
TEST(CaseFigures, SharesAreOfTheMagnitude) {
  Tensor tensor = tensor_of<float>({2}, {1.0F, -1.0F});
  RecordedCase recorded = with_field(R"({"sum":0.25,"abs_sum":2,"first":1,"last":-1.5})");
  CaseReport report;
  expect_summary(report, "t", recorded["t"], tensor, {.share = 0.125});
  EXPECT_THAT(report.mismatches(), ElementsAre(HasSubstr("last: expected -1.5")));
  EXPECT_TRUE((FigureTolerance{.each = 1}.holds(2, 3, 0)));
  EXPECT_FALSE((FigureTolerance{.each = 1, .share = 0.5}.holds(2, 5, 2)));
  EXPECT_TRUE(tensor_figures_schema(true) != nullptr && summary_schema() != nullptr);
}

}  // namespace
}  // namespace simmesh
