#include "verify/checkpoint/case_data.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "tests/expect_error.h"
#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using testing::expect_error;

RecordedCase data_case(const std::string& data, const std::string& shape) {
  return RecordedCase::parse(R"({"kind":"safetensors","id":"x","source":"s","shape":)" + shape +
                                 R"(,"data":)" + data + "}",
                             {.file = "folder/cases.jsonl", .line = 1});
}

std::vector<std::byte> data_of(const std::string& data, const std::string& shape,
                               checkpoint::StoredDType dtype) {
  RecordedCase recorded = data_case(data, shape);
  return stored_data(recorded["data"], dtype, recorded["shape"]);
}

// Bytes of a type that no tensor holds come from the random words; others from the formula.
TEST(VerifyCaseData, HasTheBytesOfTheRule) {
  std::vector<std::byte> raw =
      data_of(R"({"rule":"raw","seed":7})", "[3]", checkpoint::StoredDType::u16);
  ASSERT_EQ(raw.size(), 6u);
  for (std::size_t i = 0; i < raw.size(); ++i)
    EXPECT_EQ(raw[i], std::byte(formula_word(7, i) >> 56));
  Tensor expected =
      formula({3}, {.rule = Rule::index, .seed = 7, .below = 5, .dtype = DType::int64});
  EXPECT_EQ(data_of(R"({"rule":"index","seed":7,"below":5})", "[3]", checkpoint::StoredDType::i64),
            std::vector<std::byte>(expected.data(), expected.data() + expected.bytes()));
}

TEST(VerifyCaseData, RefusesRulesThatTheElementsDontHave) {
  expect_error<BadCase>(
      [] { data_of(R"({"rule":"wide","seed":7})", "[3]", checkpoint::StoredDType::u16); },
      ErrorKind::value_error, "the rule raw for elements of U16");
}

TEST(VerifyCaseData, FilesLieBesideTheCase) {
  EXPECT_EQ(case_folder(data_case("{}", "[]")).name(), "folder");
}

}  // namespace
}  // namespace simmesh
