#include "checkpoint/zero_cost/staged_state.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::has_round;
using ::testing::HasSubstr;
using testing::run_world;
using testing::sample_state;
using testing::sample_tensors;

// Copied byte by byte in any order, the copy becomes the state.
TEST(StagedState, CopiesEveryByte) {
  run_world(2, [] {
    DeviceMesh mesh = init_device_mesh({2});
    StateDict source = sample_state(mesh, sample_tensors(Shard(0)), 1);
    StagedState staged(source);
    std::int64_t bytes = 0;
    for (CopyRange range : staged.ranges())
      for (std::int64_t end = range.end; end > range.begin; --end, ++bytes)
        staged.copy({range.buffer, end - 1, end});
    EXPECT_EQ(bytes, staged.bytes());
    staged.check_unchanged();
    EXPECT_TRUE(has_round(staged.state(), sample_tensors(Shard(0)), 1));
  });
}

TEST(StagedState, CopiesElementsThatDontLieTogether) {
  run_world(1, [] {
    Tensor whole = formula({4, 3}, {.rule = Rule::wide, .seed = 3});
    StateDict source;
    source.add("model.columns", whole.transpose(0, 1));
    StagedState staged(source);
    for (const CopyRange& range : staged.ranges())
      for (std::int64_t begin = range.begin; begin < range.end; begin += 5)
        staged.copy({range.buffer, begin, std::min(begin + 5, range.end)});
    EXPECT_TRUE(same_bits(std::get<Tensor>(*staged.state().find("model.columns")).contiguous(),
                          whole.transpose(0, 1).contiguous()));
  });
}

// A write after the copy counts, too, unless the tensor was copied at once.
TEST(StagedState, NamesWhatWasWritten) {
  run_world(1, [] {
    StateDict source;
    Tensor first = zeros({2}, DType::float32), second = zeros({2}, DType::float32);
    source.add("model.first", first);
    source.add("model.second", second);
    source.add("model.none", zeros({0}, DType::float32));
    StagedState staged(source);
    ASSERT_EQ(staged.ranges().size(), 2u);
    EXPECT_EQ(staged.name_of(1), "model.second");
    staged.copy_now(staged.ranges()[0]);
    first.mutable_values<float>()[0] = 1;
    staged.copy(staged.ranges());
    staged.check_unchanged();
    second.mutable_values<float>()[1] = 1;
    EXPECT_THAT(error_text([&] { staged.check_unchanged(); }),
                HasSubstr("'model.second' was written before"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
