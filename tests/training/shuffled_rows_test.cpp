#include "training/shuffled_rows.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/memory_store.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::HasSubstr;

// Every epoch has each row once, in an order of its own.
TEST(ShuffledRows, GiveEachRowOnceInAnEpoch) {
  for (std::int64_t count : {1, 2, 7, 12}) {
    ShuffledRows rows({.rows = count, .seed = 5});
    std::vector<std::int64_t> first = rows.next(count), second = rows.next(count);
    if (count == 12) {
      EXPECT_NE(first, second);
    }
    for (std::vector<std::int64_t>* epoch : {&first, &second}) {
      std::sort(epoch->begin(), epoch->end());
      for (std::int64_t row = 0; row < count; ++row) EXPECT_EQ((*epoch)[std::size_t(row)], row);
    }
  }
  EXPECT_THAT(ShuffledRows({.rows = 3, .shuffles = false}).next(5), ElementsAre(0, 1, 2, 0, 1));
}

// The order is part of a run's bits: it may not change unnoticed.
TEST(ShuffledRows, KeepTheirOrder) {
  ShuffledRows rows({.rows = 6, .seed = 1}), same({.rows = 6, .seed = 1});
  std::vector<std::int64_t> all = rows.next(15), parts;
  for (std::int64_t count : {4, 0, 9, 2})
    for (std::int64_t row : same.next(count)) parts.push_back(row);
  EXPECT_EQ(all, parts);
  EXPECT_NE(all, ShuffledRows({.rows = 6, .seed = 2}).next(15));
}

void on_ranks(std::size_t ranks, const std::function<void()>& body) {
  World world({.ranks = ranks});
  auto outcome = world.run([&](Rank&) { body(); });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
}

// From every place, on any number of ranks, a run sees the rows that come next.
TEST(ShuffledRows, GoOnFromASavedPlace) {
  for (std::int64_t seen = 0; seen <= 15; ++seen) {
    checkpoint::Location location = {std::make_shared<checkpoint::MemoryStore>(), "state"};
    on_ranks(2, [&] {
      ShuffledRows rows({.rows = 6, .seed = 1});
      rows.next(seen);
      checkpoint::StateDict state;
      add_data_place(state, rows);
      checkpoint::save(state, location);
    });
    on_ranks(3, [&] {
      ShuffledRows expected({.rows = 6, .seed = 1}), rows({.rows = 6, .seed = 1});
      expected.next(seen);
      checkpoint::StateDict state;
      add_data_place(state, rows);
      checkpoint::load(state, location);
      EXPECT_EQ(rows.place(), expected.place());
      EXPECT_EQ(rows.next(20), expected.next(20)) << seen;
    });
  }
}

TEST(ShuffledRows, RefuseOtherData) {
  ShuffledRows rows({.rows = 6, .seed = 1}), more({.rows = 7, .seed = 1});
  checkpoint::StateDict state, other;
  add_data_place(state, rows);
  add_data_place(other, more);
  EXPECT_THAT(
      error_text([&] { state.set_loaded("data", std::get<JsonValue>(*other.find("data"))); }),
      HasSubstr("expected the place in 6 rows with seed 1, got one in 7 rows"));
  EXPECT_THAT(error_text([&] { state.set_loaded("data", JsonValue(std::int64_t{4})); }),
              HasSubstr("expected an object of the integers rows, seed, epoch and row, got 4"));
  EXPECT_THAT(error_text([&] { rows.set_place({.epoch = 0, .row = 7}); }),
              HasSubstr("expected a place in 6 rows, got row 7 of epoch 0"));
  EXPECT_THAT(error_text([] { ShuffledRows({.rows = 0}); }), HasSubstr("at least one row, got 0"));
}

}  // namespace
}  // namespace simmesh
