#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/release/release_page.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string plain = "[mesh]\nshape = [2]\n[parallel]\nreplicate = {}\n";
const std::string mixed =
    "[mesh]\nshape = [2]\n[parallel]\nfsdp = { param_dtype = \"bfloat16\" }\n";

// Without it people couldn't see what an upgrade changes where they have no page but the program.
TEST(ReleasesCommand, PrintsAllChanges) {
  auto run = run_program("releases --changes");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, release_page());
}

TEST(ReleasesCommand, SaysWhatDiffers) {
  TemporaryFolder folder;
  std::string a = folder.write("a.toml", plain), b = folder.write("b.toml", mixed);
  auto run = run_program("releases " + a + " " + b);
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("gate " + a + "\nnothing differs: checks, plans, events"),
            run.output.npos)
      << run.output;
  EXPECT_NE(run.output.find("calls of reduce_scatter avg bfloat16"), run.output.npos) << run.output;
  EXPECT_EQ(run_program("releases --quiet " + a).output, "0 differences\n");
  auto json = nlohmann::json::parse(run_program("releases --json " + a + " " + b).output);
  EXPECT_EQ(fmt::format("{} differences", json["differences"].get<int>()), run.last_line());
  EXPECT_EQ(json["gates"][0]["differences"].size(), 0u);
  EXPECT_EQ(run_program("releases --jobs 2 " + a + " " + b).output, run.output);
}

// Cases that people record from their own models are compared as gates are, in the order of the
// paths.
TEST(ReleasesCommand, TakesRecordedCasesToo) {
  TemporaryFolder folder;
  std::string gate = folder.write("a.toml", plain);
  std::string cases = SIMMESH_SOURCE_DIR "/tests/cases/fsdp_2_15/layout.jsonl";
  auto run = run_program("releases " + cases + " " + gate);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find("cases " + cases + "\n  case layout_public/bf16_param_only\n"), 0u)
      << run.output;
  EXPECT_NE(run.output.find("\ngate " + gate + "\n"), run.output.npos) << run.output;
  auto json = nlohmann::json::parse(run_program("releases --json " + cases + " " + gate).output);
  EXPECT_EQ(json["gates"].size(), 1u);
  EXPECT_EQ(fmt::format("{} differences", json["cases"][0]["differences"].size()), run.last_line());
}

TEST(ReleasesCommand, RefusesWhatHasNoMeaning) {
  TemporaryFolder folder;
  std::string gate = folder.write("a.toml", plain);
  expect_refused("releases", "PATH");
  expect_refused("releases " + gate + " --release 2.13", "expected no --release");
  expect_refused("releases " + gate + " --trace t.json", "expected no --trace");
  expect_refused("releases missing.toml", "missing.toml");
}

}  // namespace
}  // namespace simmesh
