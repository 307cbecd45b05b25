#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "verify/case_files.h"
#include "verify/case_mesh.h"
#include "verify/verify.h"

namespace simmesh {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<RecordedCase> load(const std::string& file, const std::string& kind) {
  std::vector<std::string> paths{SIMMESH_SOURCE_DIR "/tests/cases/pytorch/" + file};
  return load_cases(paths, [&](const RecordedCase& recorded) { return recorded.kind() == kind; })
      .cases;
}

CaseReport verify_json(const json& value) {
  return verify_case(RecordedCase::parse(value.dump(), {}), {});
}

// All that PyTorch showed of meshes, its refusals included, rank by rank.
TEST(VerifyMesh, AgreesWithAllRecordedCases) {
  std::vector<RecordedCase> cases = load("mesh.jsonl", "mesh");
  EXPECT_THAT(cases, SizeIs(247));
  for (const RecordedCase& recorded : cases)
    EXPECT_THAT(verify_case(recorded, {}).mismatches(), IsEmpty()) << recorded.id();
}

// The disputed meshes are those on which PyTorch sorts the groups. Ours follow the coordinates:
// with groups and local ranks taken from the mesh itself each case holds.
TEST(VerifyMesh, DisputedGroupsFollowTheMesh) {
  std::vector<RecordedCase> cases = load("disputed.jsonl", "mesh");
  EXPECT_THAT(cases, SizeIs(5));
  for (const RecordedCase& recorded : cases) {
    EXPECT_TRUE(verify_case(recorded, {}).failed()) << recorded.id();
    json ours = recorded.root().value();
    std::vector<std::int64_t> shape = ours["result"]["shape"];
    for (json& entry : ours["result"]["ranks"]) {
      std::vector<std::int64_t> coordinate = entry["coordinate"], ranks = entry["mesh"];
      entry["local_rank"] = coordinate;
      for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        std::vector<std::int64_t> line;
        for (std::int64_t step = 0; step < shape[dim]; ++step) {
          std::int64_t index = 0;
          for (std::size_t other = 0; other < shape.size(); ++other)
            index = index * shape[other] + (other == dim ? step : coordinate[other]);
          line.push_back(ranks[static_cast<std::size_t>(index)]);
        }
        entry["groups"][dim] = line;
      }
    }
    EXPECT_THAT(verify_json(ours).mismatches(), IsEmpty()) << recorded.id();
  }
}

// Replaces each number below a value in turn, and calls `check` with each change.
template <class F>
void change_each_number(json& value, const F& check) {
  if (value.is_number_integer()) {
    json before = value;
    value = before.get<std::int64_t>() + 1;
    check();
    value = before;
  } else if (value.is_structured()) {
    for (json& entry : value) change_each_number(entry, check);
  }
}

// A verifier that compares nothing passes everything: each single number of a result, changed, must
// make the case fail.
TEST(VerifyMesh, NoticesEachChangedNumber) {
  std::int64_t changes = 0;
  for (const RecordedCase& recorded : load("mesh.jsonl", "mesh")) {
    json value = recorded.root().value();
    if (!value.contains("result") || value["world"] > 6) continue;
    change_each_number(value["result"], [&] {
      ++changes;
      ASSERT_TRUE(verify_json(value).failed()) << recorded.id();
    });
  }
  EXPECT_GT(changes, 3000);
}

TEST(VerifyMesh, NoticesOtherChanges) {
  for (const RecordedCase& recorded : load("mesh.jsonl", "mesh")) {
    json value = recorded.root().value();
    json changed = value;
    if (value.contains("error")) {
      changed["error"]["error"] = "OSError";
      EXPECT_TRUE(verify_json(changed).failed());
      changed = value;
      changed["error"]["message_contains"] = "no such phrase";
      EXPECT_TRUE(verify_json(changed).failed());
      changed = value;
      changed["ops"] = json::array();
      changed["mesh"] = {{"shape", {2}}};
      EXPECT_TRUE(verify_json(changed).failed());
      continue;
    }
    changed["result"]["names"] = {"other"};
    EXPECT_TRUE(verify_json(changed).failed());
    changed = value;
    json& last = changed["result"]["ranks"].back();
    last = last.is_null() ? changed["result"]["ranks"][0] : json(nullptr);
    if (changed != value) {
      EXPECT_TRUE(verify_json(changed).failed()) << recorded.id();
    }
    changed = value;
    changed["result"]["colour"] = 1;
    EXPECT_TRUE(verify_json(changed).failed());
    changed["result"].erase("names");
    EXPECT_THROW(verify_json(changed), BadCase);
  }
}

}  // namespace
}  // namespace simmesh
