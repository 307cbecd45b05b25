#include "tools/findings_option.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string wrong_gate =
    "[mesh]\nshape = [4]\n[parallel]\nreplicate = {}\n[expect]\nhash = \"0000000000000000\"\n";

nlohmann::json only_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  return nlohmann::json::parse(text);
}

// The commands write the same findings, whatever they print.
TEST(FindingsOption, AGateThatFailsIsWrittenInEachFormat) {
  TemporaryFolder folder;
  std::string gate = folder.write("g.toml", wrong_gate);
  std::string plain = run_program("run " + gate).output;
  for (const char* format : {"jsonl", "sarif", "xml"}) {
    auto run =
        run_program(fmt::format("run {} --findings {}/f.{}", gate, folder.path().string(), format));
    EXPECT_EQ(run.status, 1) << run.output;
    EXPECT_EQ(run.output, plain);
  }
  nlohmann::json line = only_line(folder.read("f.jsonl"));
  EXPECT_EQ(line["rule"], "gate/hash");
  EXPECT_EQ(line["line"], 6);
  EXPECT_EQ(line["file"], gate);
  auto sarif = nlohmann::json::parse(folder.read("f.sarif"));
  EXPECT_EQ(sarif["runs"][0]["results"].size(), 1u);
  EXPECT_NE(folder.read("f.xml").find("tests=\"3\" failures=\"1\""), std::string::npos);
}

TEST(FindingsOption, ShardsThatAreMergedHaveThoseOfOneRun) {
  TemporaryFolder folder;
  std::string gate = folder.write("g.toml", wrong_gate), at = folder.path().string();
  run_program(fmt::format("run {} {} --findings {}/one.jsonl", gate, gate, at));
  for (int i : {1, 2})
    run_program(fmt::format("run {} {} --shard {}/2 --results {}/{}", gate, gate, i, at, i));
  run_program(fmt::format("merge {}/1 {}/2 --findings {}/two.jsonl", at, at, at));
  EXPECT_EQ(folder.read("two.jsonl"), folder.read("one.jsonl"));
  EXPECT_FALSE(folder.read("one.jsonl").empty());
}

TEST(FindingsOption, ExploreVerifyValidateComposeAndReplayHaveIt) {
  TemporaryFolder folder;
  std::string gate = folder.write("g.toml", wrong_gate), at = folder.path().string();
  run_program(
      fmt::format("explore {} --schedules 2 --output {}/s --findings {}/e.jsonl", gate, at, at));
  EXPECT_EQ(only_line(folder.read("e.jsonl"))["rule"], "gate/schedules");
  std::string cases = folder.write("c.jsonl", "{\"kind\":\"no_kind\",\"id\":\"a\"}\n");
  run_program(fmt::format("verify {} --findings {}/v.jsonl", cases, at));
  EXPECT_EQ(only_line(folder.read("v.jsonl"))["line"], 1);
  run_program(fmt::format("validate neg --findings {}/r.xml", at));
  EXPECT_NE(folder.read("r.xml").find("<testsuite name=\"neg\""), std::string::npos);
  run_program(
      fmt::format("compose {} --ranks 2 --only fsdp --inject fsdp=2 --sample 1 "
                  "--findings {}/l.jsonl",
                  SIMMESH_SOURCE_DIR "/examples/gates/mlp.toml", at));
  EXPECT_EQ(only_line(folder.read("l.jsonl"))["rule"], "compose/same_as_one_device");
  run_program(fmt::format("replay {} --findings {}/t.jsonl",
                          SIMMESH_SOURCE_DIR "/tests/cases/replay/trace_bad/split_sum", at));
  EXPECT_NE(folder.read("t.jsonl").find("replay/split_sum"), std::string::npos);
}

// Everything would have run before the name of the file turned out to be wrong.
TEST(FindingsOption, AnotherEndingIsRefused) {
  TemporaryFolder folder;
  std::string gate = folder.write("g.toml", wrong_gate);
  expect_refused("run " + gate + " --findings x.txt", "ends in .jsonl (lines of JSON), .sarif");
  expect_refused("verify --findings /no/such/f.xml " + gate, "the findings");
}

}  // namespace
}  // namespace simmesh
