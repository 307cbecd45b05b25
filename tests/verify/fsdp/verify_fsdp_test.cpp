#include <gtest/gtest.h>

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json case_named(const std::string& file, const std::string& name) {
  return testing::first_with("../fsdp/" + file, [&](const json& each) {
    return each["id"].get<std::string>().ends_with("/" + name);
  });
}

// The order of events, shapes and bits depend on no schedule, and on no number of threads.
TEST(VerifyFsdp, PassesUnderSchedules) {
  for (const json& value :
       {case_named("events.jsonl", "prefetch_default_None_ac"), case_named("layout.jsonl", "hsdp"),
        case_named("events.jsonl", "two_groups_in_a_module_True"),
        case_named("layout.jsonl", "tp_plain_mixed"), case_named("errors.jsonl", "spmd_good"),
        case_named("state_dict.jsonl", "load_assign_after_step_uneven_4")}) {
    for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
      for (std::int64_t threads : {1, 2})
        EXPECT_THAT(
            testing::verify_value(value, {.schedule = schedule, .threads = threads}).mismatches(),
            ::testing::IsEmpty())
            << value["id"] << schedule;
  }
}

// Each check that never fires would let wrong events pass as right.
TEST(VerifyFsdp, NamesWhatDiffers) {
  json events = case_named("events.jsonl", "prefetch_default_None_plain");
  testing::expect_fails(events, "/program/0/events/1/0", "unshard",
                        "rank 1: step 0 (forward): event 1");
  testing::expect_fails(events, "/totals/all_gather", 99,
                        "rank 0: totals: expected {\"all_gather\": 99");
  testing::expect_fails(events, "/ranks_agree", false, "ranks_agree");
  json counts = case_named(
      "counts.jsonl",
      testing::recorded_values("../fsdp/counts.jsonl")[0]["id"].get<std::string>().substr(
          std::string("counts_public/").size()));
  testing::expect_fails(counts, "/per_step/0/1", 77, "per_step[0]");
  testing::expect_fails(counts, "/counts/reduce_scatter", 77, "counts");
  json layout = case_named("layout.jsonl", "uneven_2");
  testing::expect_fails(layout, "/groups/0/gather_input_numel", 1, "groups[0].gather_input_numel");
  testing::expect_fails(layout, "/collectives/0/output_hash", "0000000000000000",
                        "collectives[0].output_hash");
  testing::expect_fails(layout, "/stages/after_forward/a.w/dtype", "int32",
                        "after_forward.a.w.dtype");
  testing::expect_fails(layout, "/grads/a.w/hash", "0000000000000000", "grads.a.w.hash");
  json error = case_named("errors.jsonl", "reshard_int_3");
  testing::expect_fails(error, "/raises/type", "KeyError", "expected KeyError at wrap 0");
  testing::expect_fails(error, "/raises/words/0", "no such word", "no such word");
  testing::expect_fails(error, "/raises", nullptr, "expected no error");
  json state = case_named("state_dict.jsonl", "cached_before_first_forward_uneven_True_2");
  testing::expect_fails(state, "/start/0.up.weight/padded_numel", 1, "start.0.up.weight");
  testing::expect_fails(state, "/program/1/facts/0.up.weight/sd/aliases", false, "sd.aliases");
  testing::expect_fails(state, "/program/1/keys/0", "other", "keys");
}

// Formula values go into the shards of a gathered model too.
TEST(VerifyFsdp, FillsTheShardsOfAGatheredModel) {
  json value = case_named("state_dict.jsonl", "manual_unshard_uneven_2");
  json& program = value["program"];
  ASSERT_EQ(program[2]["do"], "unshard");
  program.insert(program.begin() + 3, json{{"do", "fill"}, {"facts", json::object()}});
  EXPECT_THAT(testing::verify_value(value).mismatches(), ::testing::IsEmpty());
}

TEST(VerifyFsdp, NamesStepsItDoesNotKnow) {
  json events = case_named("events.jsonl", "prefetch_default_None_plain");
  testing::expect_fails(events, "/program/0/do", "fly", "'fly' is not known");
  testing::expect_fails(events, "/program/0/colour", 1, "colour' is not known");
  testing::expect_bad(events, "/program/0/x/shape", json("wide"), "x.shape'");
  testing::expect_bad(events, "/program/0/x/shape", json::array({1 << 20, 1 << 20}), "elements");
}

}  // namespace
}  // namespace simmesh
