#include "checkpoint/tools/diff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/save_load/save.h"
#include "checkpoint/store/memory_store.h"
#include "core/tensor/tensor.h"
#include "tests/checkpoint/worlds.h"

namespace simmesh::checkpoint {
namespace {

TEST(Diff, SaysHowEachNameDiffers) {
  auto store = std::make_shared<MemoryStore>();
  testing::run_world(1, [&] {
    StateDict first, second;
    first.add("equal", tensor_of<float>({2}, {1, 2}));
    second.add("equal", tensor_of<float>({2}, {1, 2}));
    first.add("bits", tensor_of<float>({3}, {1, 2, 3}));
    second.add("bits", tensor_of<float>({3}, {1, -2, 4}));
    first.add("shape", zeros({2}, DType::float32));
    second.add("shape", zeros({3}, DType::float32));
    first.add("gone", 1);
    second.add("new", 2);
    first.add("step", 3);
    second.add("step", 4);
    save(first, {store, "first"});
    save(second, {store, "second"});
  });
  std::vector<std::string> lines;
  for (const auto& [name, text] : diff({store, "first"}, {store, "second"}))
    lines.push_back(fmt::format("{}: {}", name, text));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "bits: 2 of 3 elements differ; the first has the row-major index 1",
                       "gone: only in the first", "new: only in the second",
                       "shape: float32[2] there, float32[3] here",
                       "step: the value 3 there, the value 4 here"}));
}

}  // namespace
}  // namespace simmesh::checkpoint
