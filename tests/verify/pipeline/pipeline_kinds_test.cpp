#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// Each check that never fires would let a wrong schedule pass as right.
TEST(VerifyPipelineAction, ComparesAllOfAnAction) {
  json both = pipeline_case("actions.jsonl", [](const json& value) {
    return value.contains("parsed") && value["parsed"].is_object() &&
           value["parsed"]["parts"].is_array();
  });
  expect_passes(both);
  expect_fails(both, "/parsed/parts/0/stage", 77, "parsed: expected");
  expect_fails(both, "/printed", "0F0", "printed: expected 0F0");
  expect_fails(both, "/compute", false, "compute: expected false");
  expect_fails(both, "/text", "", "idle: expected false");
  json refused =
      pipeline_case("actions.jsonl", [](const json& value) { return value.contains("raises"); });
  expect_passes(refused);
  expect_fails(refused, "/raises/type", "ValueError", "expected ValueError, got RuntimeError");
  expect_fails(refused, "/raises/words", {"xyzzy"}, "expected 'xyzzy' in the message");
  expect_fails(refused, "/text", "0F0", "expected RuntimeError, got no error");
}

TEST(VerifyPipelineAccepts, ComparesEachNumber) {
  json accepts = pipeline_case("accepts.jsonl", [](const json& value) {
    return value["schedule"] == "1F1B" && value["ranks"].get<int>() > 1;
  });
  expect_passes(accepts);
  expect_fails(accepts, "/by_microbatches/0", nullptr, "1 micro-batches: expected no error");
  expect_fails(accepts, "/by_microbatches/15", {{"type", "ValueError"}, {"words", {"a"}}},
               "16 micro-batches: expected ValueError, got no error");
  expect_bad(accepts, "/ranks", 1025, "ranks");
}

TEST(VerifyPipelineMap, ComparesRanksAndRounds) {
  json map = pipeline_case("maps.jsonl", [](const json& value) {
    return value.contains("stage_to_rank") && value["ranks"] == 3;
  });
  expect_passes(map);
  expect_fails(map, "/stage_to_rank/0", 2, "ranks of the stages: expected");
  expect_fails(map, "/rank_to_stages/0/0", 9, "stages of rank 0");
  expect_fails(map, "/preconnect_rounds/0/0/1", 7, "rounds of connections");
  expect_fails(map, "/directed_rounds/0/0/1", 7, "rounds by direction");
  expect_fails(map, "/ranks", 2, "expected");
}

TEST(VerifyPipelineLiveness, ComparesSlotsAndLifetimes) {
  json liveness =
      pipeline_case("liveness.jsonl", [](const json& value) { return value.contains("slots"); });
  expect_passes(liveness);
  expect_fails(liveness, "/slots", 50, "number of slots: expected 50");
  expect_fails(liveness, "/lifetimes/0/2", 7, "lifetimes: expected");
  expect_bad(liveness, "/row", "0Q0", "row of actions");
}

TEST(VerifyPipelineCsv, ComparesWhatRuns) {
  json csv = pipeline_case("csv.jsonl", [](const json& value) { return value.contains("final"); });
  expect_passes(csv);
  expect_fails(csv, "/final/0", "0F0", "rows: expected [0F0");
  expect_fails(csv, "/stage_to_rank", {5}, "ranks of the stages");
  expect_fails(csv, "/by_rank", {1}, "ranks with a row");
}

TEST(VerifyPipelinePass, RunsEachPass) {
  for (const char* pass : {"unshard", "reduce_grad", "send_recv", "wait_send", "defer_recv",
                           "send_budget", "merge_bw", "simulate", "spacing"}) {
    json value = pipeline_case("passes.jsonl", [&](const json& candidate) {
      return candidate["pass"] == pass && candidate.contains("result");
    });
    expect_passes(value);
    expect_fails(value, "/result/0", "", "rows: expected");
  }
}

TEST(VerifyPipelineSchedule, ComparesOrdersAndFigures) {
  json rows = pipeline_case("schedules.jsonl", [](const json& value) {
    return value.contains("spaced") && value.contains("merge_bw");
  });
  expect_passes(rows);
  const char* zeros = "0000000000000000";
  expect_fails(rows, "/passes/unshard/hash", zeros, "unshard: hash");
  expect_fails(rows, "/passes/compute/actions/0", 999, "compute: actions");
  expect_fails(rows, "/idle/0", 999, "idle slots");
  expect_fails(rows, "/peak_by_stage/0", 999, "peak by stage");
  expect_fails(rows, "/peak_by_rank/0", 999, "peak by rank");
  expect_fails(rows, "/merge_bw/hash", zeros, "merged");
  expect_fails(rows, "/spaced/slots/0", 999, "spaced: slots");
  expect_fails(rows, "/spaced/hash", zeros, "spaced: hash");
  expect_fails(rows, "/liveness/microbatch/hash", zeros, "liveness by microbatch: hash");
  expect_fails(rows, "/messages_in_order", false, "messages in order");
  expect_fails(rows, "/stage_to_rank/0", 9, "ranks of the stages");
  json run = pipeline_case("schedules.jsonl", [](const json& value) {
    return value.contains("executed") && value.contains("simulated");
  });
  expect_passes(run);
  expect_fails(run, "/executed/0", "loss", "executed: expected [loss");
  expect_fails(run, "/simulated/steps", 999, "simulated: steps");
  expect_fails(run, "/simulated/hash", zeros, "simulated: hash");
  expect_bad(run, "/microbatches", 1 << 14, "stages times micro-batches");
}

TEST(VerifyPipelineChunks, ComparesPieces) {
  json cut = pipeline_case("chunks.jsonl", [](const json& value) {
    return value.contains("result") && !value["args"].empty() && !value["kwargs"].empty();
  });
  expect_passes(cut);
  expect_fails(cut, "/result/0/args/0/hash", "0000000000000000", "chunk 0: argument 0");
  expect_fails(cut, "/result/0/kwargs/k0", {{"value", 1}}, "chunk 0: k0");
  expect_fails(cut, "/result", json::array(), "number of chunks");
  json join =
      pipeline_case("chunks.jsonl", [](const json& value) { return value.contains("joined"); });
  expect_passes(join);
  expect_fails(join, "/joined/shape", {7, 7, 7}, "joined: expected [7, 7, 7]");
}

// If this fails, a schedule that PyTorch gets wrong passes as right.
TEST(VerifyPipeline, FailsTheDisputedCases) {
  for (const json& value : testing::recorded_values("../pipeline/disputed.jsonl"))
    EXPECT_FALSE(testing::verify_value(value).mismatches().empty()) << value["id"];
}

}  // namespace
}  // namespace simmesh
