#include "checkpoint/paddle/fused_buffers.h"

#include <cstdio>
#include <gmock/gmock.h>

#include "core/tensor/formula.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using testing::run_world;

// Tensors that are uneven, smaller than a world, empty, without dims, and of three dims.
const std::vector<FusedTensor>& fused_tensors() {
  static const std::vector<FusedTensor> tensors = {{"weight", {5, 3}},  {"bias", {5}},
                                                   {"none", {0, 4}},    {"scalar", {}},
                                                   {"cube", {2, 3, 7}}, {"long", {130}}};
  return tensors;
}

struct FusedCase {
  ShardingVersion version;
  std::int64_t ranks, buffer_bytes;
};

std::vector<FusedCase> fused_cases() {
  std::vector<FusedCase> cases;
  for (ShardingVersion version : {ShardingVersion::v1, ShardingVersion::v2, ShardingVersion::v3})
    for (std::int64_t ranks : {1, 2, 3, 4})
      for (std::int64_t bytes : {1, 200, 1 << 20}) cases.push_back({version, ranks, bytes});
  return cases;
}

Tensor fused_whole(std::size_t tensor, std::uint64_t kind, DType dtype = DType::float32) {
  return formula(fused_tensors()[tensor].shape,
                 {.rule = Rule::wide, .seed = 10 * tensor + kind, .dtype = dtype});
}

Tensor range_of(const Tensor& whole, const FlatRange& range) {
  return whole.view(Shape{whole.numel()}).narrow({0, range.begin, range.numel()}).contiguous();
}

// One rank's parameters in bfloat16 and their states, in one case.
struct FusedRun {
  explicit FusedRun(const FusedCase& one)
      : parameters(fused_tensors(), {one.version, one.buffer_bytes, DType::bfloat16}),
        states(parameters) {
    parameters.add_to(state, "model.");
    states.add_to(state);
  }

  // Returns the values that an entry must have, by the last word of its name.
  Tensor expected(const StateDict::Entry& entry, std::size_t tensor) const {
    FlatRange range = parameters.pieces()[tensor].range;
    if (entry.name.starts_with("model."))
      return range_of(fused_whole(tensor, 0, DType::bfloat16), range);
    if (entry.name.starts_with("master.")) return range_of(fused_whole(tensor, 1), range);
    if (entry.name.ends_with("exp_avg")) return range_of(fused_whole(tensor, 2), range);
    if (entry.name.ends_with("exp_avg_sq")) return range_of(fused_whole(tensor, 3), range);
    return full(Shape{1}, DType::float32, entry.name.ends_with("beta1_pow_acc") ? 0.5 : 0.25);
  }

  template <class Visit>
  void visit(const Visit& visit_one) const {
    for (const StateDict::Entry& entry : state.entries()) {
      std::size_t tensor = 0;
      while (entry.name.find("." + fused_tensors()[tensor].name) == entry.name.npos) ++tensor;
      const auto* shard = std::get_if<FlatShard>(&entry.value);
      visit_one(shard ? shard->values : std::get<Tensor>(entry.value), expected(entry, tensor));
    }
  }

  FusedBuffers parameters;
  FusedAdamStates states;
  StateDict state;
};

void fill_all(Tensor buffer, double value) {
  if (buffer.has_elements()) copy_(buffer, full(buffer.shape(), buffer.dtype(), value));
}

// Saves a case whose padding has values that must not come back.
Location saved_case(const FusedCase& one) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  run_world(one.ranks, [&] {
    FusedRun run(one);
    for (const Tensor& buffer : run.parameters.buffers()) fill_all(buffer, 99);
    fill_all(run.states.buffer(), 99);
    run.visit([](Tensor values, const Tensor& expected) {
      if (values.has_elements()) copy_(values, expected);
    });
    save(run.state, location);
  });
  return location;
}

// Loads it in another case. Every piece has its bits, and the padding is unchanged.
void expect_loads(const Location& location, const FusedCase& one) {
  run_world(one.ranks, [&] {
    FusedRun run(one);
    load(run.state, location);
    bool is_same = true;
    run.visit([&](const Tensor& values, const Tensor& expected) {
      is_same &= same_bits(values.contiguous(), expected);
    });
    run.visit([](Tensor values, const Tensor&) { fill_all(std::move(values), 0); });
    for (const Tensor& buffer : run.parameters.buffers())
      is_same &= same_bits(buffer, zeros(buffer.shape(), buffer.dtype()));
    is_same &= same_bits(run.states.buffer(), zeros(run.states.buffer().shape(), DType::float32));
    EXPECT_TRUE(is_same);
  });
}

// Every case loads the checkpoints of all others: versions, worlds and sizes of buffers.
TEST(FusedBuffers, EveryLayoutLoadsEveryOther) {
  std::int64_t pairs = 0;
  for (const FusedCase& from : fused_cases()) {
    Location location = saved_case(from);
    for (const FusedCase& to : fused_cases()) {
      expect_loads(location, to);
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "v" << int(from.version) + 1 << " on " << from.ranks << " ranks, " << from.buffer_bytes
          << " bytes, to v" << int(to.version) + 1 << " on " << to.ranks << " ranks, "
          << to.buffer_bytes << " bytes";
      ++pairs;
    }
  }
  std::printf("%lld pairs of versions, worlds and sizes of buffers\n",
              static_cast<long long>(pairs));
}

// The versions give whole tensors, runs of a padded buffer, and rows.
TEST(FusedBuffers, SpreadTensorsAsTheirVersionSays) {
  run_world(2, [] {
    std::int64_t rank = this_rank().id();
    std::vector<FusedTensor> tensors = {{"weight", {3, 50}}, {"bias", {70}}};
    auto ranges = [&](ShardingVersion version) {
      FusedBuffers buffers(tensors, {.version = version, .buffer_bytes = 1 << 20});
      return std::pair(buffers.pieces()[0].range, buffers.pieces()[1].range);
    };
    FlatRange none;
    EXPECT_EQ(ranges(ShardingVersion::v1),
              rank == 0 ? std::pair(FlatRange{0, 150}, none) : std::pair(none, FlatRange{0, 70}));
    // 256 and 128 elements with padding, so each rank has 192 of 384.
    EXPECT_EQ(ranges(ShardingVersion::v2),
              rank == 0 ? std::pair(FlatRange{0, 150}, none) : std::pair(none, FlatRange{0, 70}));
    EXPECT_EQ(ranges(ShardingVersion::v3), rank == 0
                                               ? std::pair(FlatRange{0, 100}, FlatRange{0, 64})
                                               : std::pair(FlatRange{100, 150}, FlatRange{64, 70}));
  });
}

TEST(FusedBuffers, RefusesBuffersWithoutBytes) {
  run_world(1, [] {
    EXPECT_THAT(
        simmesh::testing::error_text([] { FusedBuffers(fused_tensors(), {.buffer_bytes = 0}); }),
        ::testing::HasSubstr("expected buffers of at least one byte, got 0"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
