#include "checkpoint/save_load/load.h"

#include <gmock/gmock.h>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "core/tensor/convert.h"
#include "testing/gtest.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_world;
using testing::sample_whole;

// Returns a checkpoint of a, b, c and a step that two ranks saved by rows.
Location saved_letters() {
  Location location = {std::make_shared<MemoryStore>(), "step"};
  run_world(2, [&] {
    DeviceMesh mesh = init_device_mesh({2});
    StateDict state;
    for (const char* name : {"a", "b", "c"})
      state.add(name, distribute_tensor(sample_whole({4, 3}, DType::float32, std::uint64_t(*name)),
                                        mesh, {Shard(0)}, {.from_first_rank = false})
                          .as_tensor());
    state.add("step", std::int64_t{7});
    save(state, location);
  });
  return location;
}

Tensor letter(char name) { return sample_whole({4, 3}, DType::float32, std::uint64_t(name)); }

// One message lists everything that doesn't fit, on every rank, and nothing is loaded.
TEST(Load, ListsAllThatDoesNotFit) {
  Location location = saved_letters();
  run_world(2, [&] {
    Tensor a = zeros({4, 3}, DType::float32);
    StateDict state;
    state.add("a", a);
    state.add("b", zeros({3, 4}, DType::float32));
    state.add("d", zeros({1}, DType::float32));
    state.add("step", zeros({1}, DType::float32));
    state.add("epoch", std::int64_t{0});
    state.add("c", std::int64_t{0});
    std::string text = error_text([&] { load(state, location); });
    EXPECT_THAT(text, AllOf(HasSubstr("memory/step doesn't fit the state dict:"),
                            HasSubstr("not in the checkpoint: d, epoch"),
                            HasSubstr("'b': expected float32[3, 4], got float32[4, 3]"),
                            HasSubstr("'step': expected a tensor, got another value"),
                            HasSubstr("'c': expected a value that is no tensor, got one"),
                            Not(HasSubstr("only in the checkpoint"))));
    EXPECT_TRUE(same_bits(a, zeros({4, 3}, DType::float32)));
    StateDict half;
    half.add("a", zeros({4, 3}, DType::bfloat16));
    EXPECT_THAT(error_text([&] { load(half, location); }),
                AllOf(HasSubstr("only in the checkpoint: b, c, step"),
                      HasSubstr("'a': expected bfloat16[4, 3], got float32[4, 3]")));
  });
}

TEST(Load, ShortensLongLists) {
  Location location = saved_letters();
  run_world(1, [&] {
    StateDict state;
    for (int i = 0; i < 25; ++i) state.add("x" + std::to_string(i), std::int64_t{0});
    EXPECT_THAT(error_text([&] { load(state, location); }), HasSubstr("x19, and 5 more"));
  });
}

TEST(Load, LeavesOutWhatMayBeMissing) {
  Location location = saved_letters();
  run_world(2, [&] {
    Tensor a = zeros({4, 3}, DType::float32), d = sample_whole({2}, DType::float32, 9);
    auto state = [&] {
      StateDict made;
      made.add("a", a);
      made.add("d", d);
      return made;
    };
    EXPECT_THAT(
        error_text([&] { load(state(), location, {.allow_missing = true}); }),
        AllOf(HasSubstr("only in the checkpoint"), Not(HasSubstr("not in the checkpoint"))));
    EXPECT_THAT(
        error_text([&] { load(state(), location, {.allow_unexpected = true}); }),
        AllOf(Not(HasSubstr("only in the checkpoint")), HasSubstr("not in the checkpoint")));
    LoadReport report = load(state(), location, {.allow_missing = true, .allow_unexpected = true});
    EXPECT_THAT(report.missing, ElementsAre("d"));
    EXPECT_THAT(report.unexpected, ElementsAre("b", "c", "step"));
    EXPECT_EQ(report.bytes_read, 4 * 3 * 4) << "b and c are not read";
    EXPECT_TRUE(same_bits(a, letter('a')));
    EXPECT_TRUE(same_bits(d, sample_whole({2}, DType::float32, 9)));
  });
}

// A rank may list names that other ranks don't have.
TEST(Load, ARankLoadsItsOwnNames) {
  Location location = saved_letters();
  run_world(3, [&] {
    Tensor mine = zeros({4, 3}, DType::float32);
    char name = char('a' + this_rank().id());
    StateDict state;
    state.add(std::string(1, name), mine);
    std::int64_t step = 0;
    state.add("step", JsonValue(std::int64_t{0}),
              [&](const JsonValue& value) { step = *value.get<std::int64_t>(); });
    LoadReport report = load(state, location);
    EXPECT_TRUE(same_bits(mine, letter(name)));
    EXPECT_EQ(step, 7);
    EXPECT_EQ(state.number("step"), 7);
    EXPECT_EQ(report.read_amplification(), 1.0);
  });
}

// Tensors are joined, cut, permuted and cast while every rank loads its own shard.
TEST(Load, MapsWhileItLoadsShards) {
  Location location = saved_letters();
  simmesh::testing::run_mesh_test({.mesh = {3}}, [&](const DeviceMesh& mesh) {
    auto shard_of = [&](const Shape& shape, DType dtype, std::int64_t dim) {
      return distribute_tensor(zeros(shape, dtype), mesh, {Shard(dim)}, {.from_first_rank = false})
          .as_tensor();
    };
    Tensor joined = shard_of({8, 3}, DType::float32, 0);
    Tensor half = shard_of({3, 4}, DType::bfloat16, 1);
    Tensor kept = sample_whole({5}, DType::float32, 9);
    StateDict state;
    state.add("ab", joined);
    state.add("c", half);
    state.add("kept", kept);
    LoadReport report =
        load(state, location,
             {.mapping = {"a, b -> ab, axis=0", "c -> c, permute=\"[1,0]\", dtype=\"bfloat16\"",
                          "_ -> kept"},
              .allow_unexpected = true});
    EXPECT_EQ(report.bytes_read, 3 * 4 * 3 * 4);
    EXPECT_THAT(report.unexpected, ElementsAre("step"));
    Tensor all = DTensor::of(joined).full_tensor();
    EXPECT_SAME_BITS(all.narrow({0, 0, 4}).contiguous(), letter('a'));
    EXPECT_SAME_BITS(all.narrow({0, 4, 4}).contiguous(), letter('b'));
    EXPECT_SAME_BITS(DTensor::of(half).full_tensor(),
                     converted(letter('c').permute(Dims{1, 0}), DType::bfloat16));
    EXPECT_SAME_BITS(kept, sample_whole({5}, DType::float32, 9));
  });
}

TEST(Load, FillsFlatShardsOfOtherRanges) {
  Location location = saved_letters();
  for (std::int64_t cut = 0; cut <= 12; ++cut)
    run_world(2, [&] {
      FlatRange range = this_rank().id() == 0 ? FlatRange{0, cut} : FlatRange{cut, 12};
      Tensor values = zeros({range.numel()}, DType::float32);
      StateDict state;
      state.add("a", FlatShard{values, {4, 3}, range});
      LoadReport report = load(state, location, {.allow_unexpected = true});
      EXPECT_TRUE(same_bits(
          values,
          letter('a').view(Shape{12}).narrow({0, range.begin, range.numel()}).contiguous()));
      EXPECT_EQ(report.read_amplification(), 1.0);
    });
}

// If rank 0 can't open the checkpoint or pass it on, every rank raises, and none waits.
TEST(Load, RaisesOnEveryRankWhatCantBeOpened) {
  auto store = std::make_shared<MemoryStore>();
  write_safetensors(*store->create("many_dims.safetensors"),
                    {{"w", StoredDType::u8, Shape(33, 0), {}}});
  Location broken = saved_letters();
  std::static_pointer_cast<MemoryStore>(broken.store)->flip("step/manifest.json", 9, 0);
  simmesh::testing::run_mesh_test({.mesh = {2}}, [&](const DeviceMesh&) {
    auto problem = [&](const Location& location) {
      StateDict state;
      return error_text([&] { load(state, location, {.allow_unexpected = true}); });
    };
    EXPECT_THAT(problem({store, "none"}), HasSubstr("memory/none: expected a checkpoint"));
    EXPECT_THAT(problem(broken), HasSubstr("memory/step/manifest.json: corrupt"));
    EXPECT_THAT(problem({store, "many_dims.safetensors"}), HasSubstr("at most 32 sizes"));
  });
}

TEST(Load, RefusesElementsThatNoTensorHolds) {
  auto store = std::make_shared<MemoryStore>();
  std::vector<std::byte> bytes(2);
  write_safetensors(*store->create("f"), {{"w", StoredDType::u16, {1}, bytes}});
  run_world(1, [&] {
    StateDict state;
    state.add("w", zeros({1}, DType::int32));
    EXPECT_THAT(error_text([&] {
                  load(state, {store, "f"});
                }),
                HasSubstr("'w': expected int32, got U16, which no tensor holds"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
