#include "tests/verify/changed_case.h"
#include "verify/zero/schedule_replay.h"

namespace simmesh {
namespace {

using nlohmann::json;

json schedule(const char* name) {
  return testing::first_with(std::string("../zero/") + name, [](const json&) { return true; });
}

// Returns the place of the first event of a name, from a place on.
std::size_t first_of(const json& value, const char* name, std::size_t from = 0) {
  const json& events = value["ev"];
  while (from < events.size() && events[from][0] != name) ++from;
  EXPECT_LT(from, events.size()) << name;
  return from;
}

std::string entry(std::size_t event, int index) {
  return "/ev/" + std::to_string(event) + "/" + std::to_string(index);
}

TEST(VerifyZeroSchedule, PassesRecordedCases) {
  for (const char* name : {"base.json", "hpz.json", "moe2_leaf.json", "dyn2.json", "ckre.json"})
    testing::expect_passes(schedule(name));
}

// Each check that never fires would let a wrong decision pass as right.
TEST(VerifyZeroSchedule, NamesWhatDiffers) {
  json value = schedule("base.json");
  std::size_t fetch = first_of(value, "ag_fetch"), end = first_of(value, "fetch_end");
  std::size_t prefetch = first_of(value, "ag_prefetch"), release = first_of(value, "release");
  std::size_t reset = first_of(value, "reset"), call = first_of(value, "coll", prefetch);
  std::size_t leftovers = first_of(value, "leftovers");
  testing::expect_fails(value, entry(fetch, 2).c_str(), json{1}, "rank 0: after");
  testing::expect_fails(value, entry(end, 4).c_str(), 7, "rank 0: after");
  testing::expect_fails(value, entry(end, 6).c_str(), 7, "rank 0: after");
  testing::expect_fails(value, entry(release, 2).c_str(), 5, "rank 0: after");
  testing::expect_fails(value, entry(call, 2).c_str(), json{77, "float32"}, "rank 0: after");
  testing::expect_fails(value, entry(reset, 1).c_str(), "COMPLETE", "rank 0: event 1");
  testing::expect_fails(value, entry(leftovers, 1).c_str(), json{1}, "rank 0: event");
  testing::expect_fails(value, "/meta/params/3/2", true, "parameter 3: persistent");
  testing::expect_fails(value, "/meta/params/3/3", 1, "parameter 3: shard");
  testing::expect_fails(value, "/meta/tiles/0/0", 1, "tiles: expected");
}

TEST(VerifyZeroSchedule, NamesWordsThatItDoesNotKnow) {
  json value = schedule("base.json");
  testing::expect_fails(value, "/ev/0/0", "BEGIN", "'BEGIN' is not known");
  testing::expect_fails(value, "/meta/spec/zero/bucket", 1, "zero.bucket' is not known");
}

// Bytes are compared after every event, and their peaks in every iteration.
TEST(VerifyZeroMemory, NamesWhatDiffers) {
  json value = schedule("mem_b300.json");
  testing::expect_passes(value);
  testing::expect_fails(value, entry(first_of(value, "mem"), 1).c_str(), 1, "rank 0: after");
  testing::expect_fails(value, entry(first_of(value, "mem_wait"), 1).c_str(), 1, "rank 0: after");
  testing::expect_fails(value, "/meta/peak/1", 1, "rank 0: peak: expected");
  testing::expect_fails(value, "/meta/peak_forward/1", 1, "rank 0: peak_forward: expected");
  testing::expect_fails(value, "/meta/model_bytes", 1, "model_bytes: expected");
}

}  // namespace
}  // namespace simmesh
