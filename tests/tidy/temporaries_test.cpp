#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// The elements of a tensor live as long as a tensor that holds them. A loop over the elements of a
// call's result, or a name for them, outlives that result: the tensor needs a name of its own.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> elements_of_temporaries(const SourceFile& file) {
  static const std::regex outliving(R"re((for \([^;]* : |(auto|span<[^=]*>) \w+ = )[^;?]*)re"
                                    R"re(\)\.(mutable_)?values(<[^>]*>)?\(\)(\)|;))re");
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  for (std::size_t i = 0; i < file.code().size(); ++i)
    if (std::regex_search(file.code()[i], outliving))
      findings.push_back({file.path(), i + 1,
                          "expected a name for the tensor whose elements are read here: the result "
                          "of a call is gone before they are"});
  return findings;
}

TEST(ElementsOfTemporaries, AreNotReadInTheTree) {
  EXPECT_TRUE(holds_in_tree(elements_of_temporaries));
}

TEST(ElementsOfTemporaries, FireOnLoopsAndNames) {
  for (std::string_view line :
       {"for (double x : to(gradient, DType::float64).contiguous().values<double>())",
        "for (float& x : made().mutable_values<float>()) x = 1;",
        "auto found = sum.to_local().values<float>();",
        "gsl::span<const float> known = average_of(name).values();"})
    EXPECT_THAT(elements_of_temporaries({"verify/typed/local_op.cpp", line}), SizeIs(1)) << line;
}

TEST(ElementsOfTemporaries, AllowTensorsWithANameAndReadingAtOnce) {
  for (std::string_view line :
       {"for (float x : whole.values<float>()) sum += x;", "auto found = local.values<float>();",
        "float first = sum.to_local().values<float>()[0];"})
    EXPECT_THAT(elements_of_temporaries({"verify/typed/local_op.cpp", line}), IsEmpty()) << line;
}

}  // namespace
}  // namespace simmesh::tidy
