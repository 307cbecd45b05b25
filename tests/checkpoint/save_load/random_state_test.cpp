#include "checkpoint/save_load/random_state.h"

#include <gmock/gmock.h>

#include "core/ops/functions/default_generator.h"
#include "testing/gtest.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;
using testing::run_world;

StateDict random_state() {
  StateDict state;
  add_random_state(state);
  return state;
}

// After a load on any number of ranks, the next numbers are those that the saved run would draw.
TEST(RandomState, EqualGeneratorsGoOnAnywhere) {
  for (std::int64_t from : {1, 2, 3}) {
    Location location = {std::make_shared<MemoryStore>(), "state"};
    Tensor next;
    run_world(from, [&] {
      manual_seed(std::uint64_t(-5));
      for (int draw = 0; draw < 7; ++draw) default_generator().next();
      save(random_state(), location);
      Tensor drawn = rand({4}, default_generator().next());
      if (this_rank().id() == 0) next = drawn;
    });
    for (std::int64_t to : {1, 2, 4})
      simmesh::testing::run_mesh_test({.mesh = {to}}, [&](const DeviceMesh&) {
        manual_seed(3);
        load(random_state(), location);
        EXPECT_SAME_BITS(rand({4}, default_generator().next()), next);
      });
  }
}

// Ranks with generators of their own get them back. Another number of ranks can't load them.
TEST(RandomState, DifferentGeneratorsStayWithTheirRanks) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  run_world(3, [&] {
    manual_seed(std::uint64_t(this_rank().id()));
    save(random_state(), location);
  });
  run_world(3, [&] {
    load(random_state(), location);
    EXPECT_EQ(default_generator().seed, std::uint64_t(this_rank().id()));
  });
  run_world(2, [&] {
    EXPECT_THAT(error_text([&] { load(random_state(), location); }),
                HasSubstr("'random': the 3 ranks that saved it had different generators; "
                          "expected as many, got 2"));
  });
}

TEST(RandomState, RefusesOtherValues) {
  for (JsonValue value : {JsonValue(std::int64_t{3}), JsonValue::object()}) {
    Location location = {std::make_shared<MemoryStore>(), "state"};
    run_world(1, [&] {
      StateDict other;
      other.add("random", value);
      save(other, location);
      EXPECT_THAT(error_text([&] { load(random_state(), location); }),
                  HasSubstr("expected an object of the integers seed and stream, got "));
    });
  }
}

}  // namespace
}  // namespace simmesh::checkpoint
