#include "verify/case_kind.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "tests/temporary_folder.h"
#include "verify/verify.h"

namespace simmesh {
namespace {

// A kind of its own, which nothing else names: cases of it add two numbers.
Schema addition_schema() {
  using namespace schema;
  return object({required("a", integer()), required("b", integer()), expected("sum", integer())});
}

void verify_addition(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::int64_t sum = recorded["a"].integer() + recorded["b"].integer();
  report.expect_equal("sum", recorded["sum"].integer(), sum);
  report.fold_data(std::uint64_t(sum));
}

const CaseKind addition_kind({.name = "test_addition",
                              .summary = "the sum of two numbers",
                              .schema = addition_schema,
                              .verifier = verify_addition});

// A new kind takes one file: its cases are read, chosen, run, checked and reported like any others.
TEST(CaseKind, IsKnownByItsFileAlone) {
  testing::TemporaryFolder folder;
  std::string cases = R"({"kind":"test_addition","id":"right","a":1,"b":2,"sum":3})"
                      "\n"
                      R"({"kind":"test_addition","id":"wrong","a":1,"b":2,"sum":4})"
                      "\n"
                      R"({"kind":"test_addition","id":"odd","a":1,"b":2,"sum":3,"carry":0})"
                      "\n";
  VerifyRequest request{.paths = {folder.write("additions.jsonl", cases)}};
  VerifyResult result = verify(request);
  EXPECT_EQ(result.by_kind["test_addition"].passed, 1);
  ASSERT_EQ(result.failures.size(), 2u);
  EXPECT_THAT(result.failures[0].mismatches, ::testing::ElementsAre("sum: expected 4, got 3"));
  EXPECT_THAT(result.failures[1].mismatches,
              ::testing::ElementsAre("the field 'carry' is not known"));
  EXPECT_TRUE(result.data_hash);
  request.paths = {folder.write("missing.jsonl", R"({"kind":"test_addition","id":"x","a":1})")};
  EXPECT_THROW(verify(request), BadCase);
}

TEST(CaseKind, FindsKindsByName) {
  EXPECT_EQ(CaseKind::find("test_addition"), &addition_kind);
  EXPECT_EQ(CaseKind::find("mash"), nullptr);
  EXPECT_EQ(CaseKind::find(""), nullptr);
}

// Pages and reports must not depend on the order in which a linker lays files out.
TEST(CaseKind, ListsKindsByName) {
  std::vector<const CaseKind*> kinds = CaseKind::all();
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end(), [](const CaseKind* a, const CaseKind* b) {
    return a->name() < b->name();
  }));
  for (const char* name : {"collective", "fsdp_layout", "zero_train"})
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(), [&](const CaseKind* kind) {
      return kind->name() == name;
    })) << name;
}

TEST(CaseKind, AddsTheFieldsThatAllKindsShare) {
  const schema::Fields& fields = addition_kind.schema()->fields;
  EXPECT_EQ(fields.size(), shared_fields().size() + 3);
  EXPECT_EQ(fields[0].name, "kind");
}

}  // namespace
}  // namespace simmesh
