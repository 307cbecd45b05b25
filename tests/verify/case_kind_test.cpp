#include "verify/case_kind.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "core/check/check.h"
#include "tests/temporary_folder.h"
#include "verify/case_world.h"
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

// A kind whose verifier breaks a contract of simmesh, by itself or on a rank.
Schema broken_schema() {
  using namespace schema;
  return object({required("on_rank", flag())});
}

void verify_broken(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  auto broken = [] { SIMMESH_CHECK(false, "nobody may come here"); };
  if (!recorded["on_rank"].boolean()) broken();
  World world(world_options(options, 2));
  run_case(
      world, [&](Rank&) { broken(); }, report);
}

const CaseKind broken_kind({.name = "test_broken",
                            .summary = "a contract that is broken",
                            .schema = broken_schema,
                            .verifier = verify_broken});

// If this fails, a defect of simmesh counts as a case that was found wrong, as if it were a result.
TEST(CaseKind, ABrokenContractIsNoVerdictOfAVerifier) {
  for (const char* on_rank : {"false", "true"}) {
    RecordedCase recorded = RecordedCase::parse(
        fmt::format(R"({{"kind":"test_broken","id":"a","on_rank":{}}})", on_rank), {});
    EXPECT_THROW(verify_case(recorded, {}), ContractViolation) << on_rank;
  }
}

// If this fails, one defect hides which case shows it, and what the other cases say.
TEST(CaseKind, ABrokenContractFailsItsCaseByName) {
  testing::TemporaryFolder folder;
  std::string cases = R"({"kind":"test_broken","id":"defect","on_rank":true})"
                      "\n"
                      R"({"kind":"test_addition","id":"right","a":1,"b":2,"sum":3})";
  VerifyResult result = verify({.paths = {folder.write("cases.jsonl", cases)}});
  EXPECT_EQ(result.total.passed, 1);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].id, "defect");
  EXPECT_THAT(result.failures[0].mismatches[0], ::testing::StartsWith("a defect of simmesh: "));
  EXPECT_THAT(result.failures[0].mismatches[0], ::testing::HasSubstr("nobody may come here"));
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
