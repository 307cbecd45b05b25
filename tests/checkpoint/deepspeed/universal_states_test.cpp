#include "checkpoint/deepspeed/universal_states.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The states of a parameter `a` of 2 x 2, in one dim and with its steps, and of one with a longer
// name.
struct UniversalFolder {
  MemoryStore store;
  DeepSpeedFiles files = {"s", {}, {}, {}};

  UniversalFolder() {
    std::vector<std::byte> four(16), one(4);
    add("zero/a/exp_avg.pt", torch_tensor_archive(StoredDType::f32, Shape{4}, four));
    add("zero/a/fp32.pt", torch_tensor_archive(StoredDType::f32, Shape{2, 2}, four));
    add("zero/a/step.pt", torch_tensor_archive(StoredDType::f32, Shape{}, one));
    add("zero/ab/fp32.pt", torch_tensor_archive(StoredDType::f32, Shape{1}, one));
    add("zero/c/step.pt", torch_tensor_archive(StoredDType::f32, Shape{}, one));
  }
  void add(const std::string& path, const std::vector<std::byte>& archive) {
    testing::add_file(store, "s/" + path, testing::text_of(archive));
    files.universal.push_back(path);
  }
  UniversalStates states() const { return {store, files}; }
};

TEST(UniversalStates, HasTheValuesOfAParameter) {
  UniversalFolder folder;
  UniversalStates states = folder.states();
  EXPECT_THAT(states.keys("a"), ElementsAre("exp_avg", "fp32", "step"));
  EXPECT_THAT(states.keys("ab"), ElementsAre("fp32"));
  EXPECT_EQ(states.steps("a"), 0);
  EXPECT_EQ(states.steps("ab"), std::nullopt);
  EXPECT_EQ(states.common(), nullptr);
  for (const char* key : {"exp_avg", "fp32"}) {
    StoredTensor tensor = states.tensor("a", key, "name", {2, 2});
    EXPECT_EQ(tensor.name, "name");
    EXPECT_EQ(tensor.bytes(), 16);
    EXPECT_EQ(tensor.chunks[0].file, std::string("zero/a/") + key + ".pt");
    EXPECT_EQ(tensor.chunks[0].box, whole(Shape{2, 2}));
  }
  folder.add("zero/optimizer_state.pt", torch_object_archive(JsonValue(std::int64_t{1})));
  EXPECT_NE(folder.states().common(), nullptr);
}

TEST(UniversalStates, NamesTheFileThatDoesNotFit) {
  UniversalFolder folder;
  EXPECT_THAT(error_text([&] { folder.states().keys("c"); }),
              HasSubstr("memory/s: zero/c/fp32.pt is missing"));
  EXPECT_THAT(error_text([&] {
                folder.states().tensor("a", "exp_avg", "n", {4, 2});
              }),
              HasSubstr("zero/a/exp_avg.pt: expected the shape [4, 2], got [4]"));
}

}  // namespace
}  // namespace simmesh::checkpoint
