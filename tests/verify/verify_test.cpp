#include "verify/verify.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TemporaryFolder;

// A mesh case of one rank; it holds if the coordinate is 0.
std::string mesh_case(const std::string& id, int coordinate) {
  return R"({"kind":"mesh","id":")" + id +
         R"(","source":"test","mesh":{"shape":[1]},"how":"init","world":1,"ops":[],)" +
         R"("result":{"shape":[1],"names":null,"ranks":[{"coordinate":[)" +
         std::to_string(coordinate) + R"(],"mesh":[0],"groups":[[0]],"local_rank":[0]}]}})" + "\n";
}

VerifyResult verify_text(const TemporaryFolder& folder, const std::string& text,
                         VerifyRequest request = {}) {
  request.paths.push_back(folder.write("c.jsonl", text));
  return verify(request);
}

TEST(Verify, CountsAndEndsWithTheTotals) {
  TemporaryFolder folder;
  VerifyResult result = verify_text(folder, mesh_case("a", 0) + mesh_case("b", 0));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(to_text(result), "2 passed, 0 failed\n");
}

// A failure must end with a line to paste that runs just this case under the same options.
TEST(Verify, SaysHowToReproduceAFailure) {
  TemporaryFolder folder;
  VerifyRequest request;
  request.options = {
      .seed = 7, .schedule = "pct:3", .threads = 2, .arithmetic = "exact", .timeout_seconds = 0.5};
  VerifyResult result = verify_text(folder, mesh_case("a/S(0)*", 1) + mesh_case("b", 0), request);
  EXPECT_FALSE(result.ok());
  std::string file = (folder.path() / "c.jsonl").string();
  EXPECT_EQ(to_text(result),
            "FAIL a/S(0)*: rank 0: coordinate: expected [1], got [0]\n"
            "reproduce: simmesh verify " +
                file +
                " --id 'a/S(0)\\*' --seed 7 --schedule pct:3 --threads 2 --arithmetic exact "
                "--timeout 0.5\n"
                "1 passed, 1 failed\n");
  EXPECT_EQ(to_text(result, {.quiet = true}), "1 passed, 1 failed\n");
  nlohmann::json printed = nlohmann::json::parse(to_json(result));
  EXPECT_EQ(printed["passed"], 1);
  EXPECT_EQ(printed["failed"], 1);
  EXPECT_EQ(printed["failures"][0]["id"], "a/S(0)*");
  EXPECT_EQ(printed["failures"][0]["line"], 1);

  VerifyRequest again;
  again.paths = {file};
  again.filter.id = "a/S(0)\\*";
  EXPECT_EQ(verify(again).total.failed, 1);
}

// One recorded case that the other release refuses in other words. The source may be replaced.
constexpr std::string_view refused_id = "redistribute/2150/10/8x3/float32/R>P(avg)/both";

VerifyResult verify_refusal(std::optional<Release> release, const std::string& source) {
  TemporaryFolder folder;
  std::ifstream file(SIMMESH_SOURCE_DIR "/tests/cases/pytorch_2_15/redistribute.jsonl");
  std::string line, id = fmt::format("\"id\":\"{}\"", refused_id);
  while (std::getline(file, line) && line.find(id) == line.npos) {
  }
  const std::string own = "pytorch 2.15.0";
  line.replace(line.find(own), own.size(), source);
  VerifyRequest request;
  request.options.release = release;
  return verify_text(folder, line + "\n", request);
}

// A case must be judged by the behaviour of the release that it was recorded from.
TEST(Verify, FollowsTheReleaseOfTheSource) {
  EXPECT_TRUE(verify_refusal({}, "pytorch 2.15.0").ok());
  EXPECT_FALSE(verify_refusal({}, "pytorch 2.13.0").ok());
  EXPECT_TRUE(verify_refusal({}, "another tool 1.0").ok());
  EXPECT_TRUE(verify_refusal(Release::v2_15, "pytorch 2.13.0").ok());
  VerifyResult result = verify_refusal(Release::v2_13, "pytorch 2.15.0");
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(to_text(result), HasSubstr(" --release 2.13\n"));
}

// A release that isn't known can't be followed, and following another one would prove nothing.
TEST(Verify, UnknownReleasesFail) {
  for (const char* source : {"pytorch 2.14.1", "pytorch 2", "pytorch main"}) {
    VerifyResult result = verify_refusal({}, source);
    ASSERT_THAT(result.failures, SizeIs(1)) << source;
    EXPECT_THAT(result.failures[0].mismatches[0], HasSubstr("expected 2.13 or 2.15")) << source;
  }
}

TEST(Verify, UnknownKindsAndFieldsFail) {
  TemporaryFolder folder;
  std::string extra = mesh_case("x", 0);
  extra.insert(1, R"("surprise":1,)");
  VerifyResult result = verify_text(folder, R"({"kind":"mash","id":"a"})"
                                            "\n" +
                                                extra);
  ASSERT_THAT(result.failures, SizeIs(2));
  EXPECT_THAT(result.failures[0].mismatches, ElementsAre("the kind 'mash' is not known"));
  EXPECT_THAT(result.failures[1].mismatches, ElementsAre("the field 'surprise' is not known"));
  EXPECT_THAT(
      to_text(result),
      HasSubstr("mash: 0 passed, 1 failed\nmesh: 0 passed, 1 failed\n0 passed, 2 failed\n"));
}

TEST(Verify, ObeysLimitAndFailFast) {
  TemporaryFolder folder;
  std::string text = mesh_case("a", 0) + mesh_case("b", 1) + mesh_case("c", 1) + mesh_case("d", 0);
  EXPECT_EQ(to_text(verify_text(folder, text, {.limit = 2}), {.quiet = true}),
            "1 passed, 1 failed\n");
  EXPECT_EQ(to_text(verify_text(folder, text, {.limit = 0}), {.quiet = true}),
            "0 passed, 0 failed\n");
  EXPECT_EQ(to_text(verify_text(folder, text, {.fail_fast = true}), {.quiet = true}),
            "1 passed, 1 failed\n");
}

TEST(Verify, SaysHowManyDisputedCasesItLeavesOut) {
  TemporaryFolder folder;
  folder.write("disputed.jsonl", mesh_case("d", 1));
  VerifyRequest request;
  request.paths = {folder.path().string()};
  folder.write("c.jsonl", mesh_case("a", 0));
  EXPECT_EQ(to_text(verify(request)),
            "1 disputed cases left out; name their file to run them\n1 passed, 0 failed\n");
}

TEST(Verify, BrokenCasesEndTheRun) {
  TemporaryFolder folder;
  std::string broken = mesh_case("b", 0);
  broken.replace(broken.find("[1]"), 3, "[\"\"]");
  std::string text = mesh_case("a", 0);
  text.append(broken).append(broken);
  for (std::size_t jobs : {1u, 3u})
    expect_error([&] { verify_text(folder, text, {.jobs = jobs}); }, ErrorKind::value_error,
                 "c.jsonl:2] field 'mesh.shape.0': expected an integer below 2^63, got \"\"");
}

TEST(Verify, GivesTheSameTextTwiceAndForAnyNumberOfJobs) {
  VerifyRequest request;
  request.paths = {SIMMESH_SOURCE_DIR "/tests/verify/corpus/good"};
  std::string text = to_text(verify(request)), json = to_json(verify(request));
  for (std::size_t jobs : {1u, 2u, 5u}) {
    request.jobs = jobs;
    EXPECT_EQ(to_text(verify(request)), text) << jobs;
    EXPECT_EQ(to_json(verify(request)), json) << jobs;
  }
}

// Cases run beside one another, so a later failure may be found before the first one.
TEST(Verify, JobsChangeNeitherTheFirstFailureNorTheLimit) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += mesh_case(std::to_string(i), i >= 20 ? 1 : 0);
  VerifyResult one = verify_text(folder, text, {.fail_fast = true});
  VerifyResult many = verify_text(folder, text, {.fail_fast = true, .jobs = 4});
  EXPECT_EQ(to_json(many), to_json(one));
  ASSERT_THAT(many.failures, SizeIs(1));
  EXPECT_EQ(many.failures[0].id, "20");
  EXPECT_EQ(to_text(verify_text(folder, text, {.limit = 3, .jobs = 4})), "3 passed, 0 failed\n");
}

// If this fails, Ctrl-C isn't obeyed, or the results so far are lost.
TEST(Verify, AnInterruptionKeepsWhatWasFound) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 9; ++i) text += mesh_case(std::to_string(i), 0);
  std::vector<std::uint64_t> done;
  VerifyRequest request;
  request.goes_on = [&](const RunProgress& progress) {
    EXPECT_EQ(progress.total, 9u);
    EXPECT_EQ(progress.what, "cases");
    done.push_back(progress.done);
    return progress.done < 3;
  };
  VerifyResult result = verify_text(folder, text, request);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(to_text(result), "3 passed, 0 failed\n");
  EXPECT_THAT(to_json(result), HasSubstr("\"interrupted\":true"));
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
}

TEST(Verify, TracesOneCase) {
  TemporaryFolder folder;
  VerifyRequest request;
  request.options.trace_file = (folder.path() / "t.json").string();
  expect_error([&] { verify_text(folder, mesh_case("a", 0) + mesh_case("b", 0), request); },
               ErrorKind::value_error, "expected one case to trace, got 2");
  request.paths = {SIMMESH_SOURCE_DIR "/tests/cases/pytorch/redistribute.jsonl"};
  request.limit = 1;
  EXPECT_TRUE(verify(request).ok());
  EXPECT_FALSE(nlohmann::json::parse(folder.read("t.json")).at("traceEvents").empty());
}

}  // namespace
}  // namespace simmesh
