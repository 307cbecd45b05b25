#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/losses.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/optim/adam.h"
#include "core/optim/clip.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::error_text;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The parts of a program of one rank: leaves, products, strided and in-place operations, a loss,
// the tape, clipping and an optimiser.
void train_a_little(Rank& rank) {
  Tensor x = formula({6, 4}, {.rule = Rule::unit, .seed = 1});
  Tensor weight = formula({3, 4}, {.rule = Rule::unit, .seed = 2});
  set_requires_grad(weight);
  optim::AdamW optimizer({weight});
  for (int step = 0; step < 2; ++step) {
    Tensor y = linear(x, weight);
    Tensor shifted = y.detach().clone();
    add_(shifted, 1);
    Tensor target = contiguous(transpose(shifted, 0, 1)).transpose(0, 1);
    backward(mse_loss(y, target));
    Tensor parameters[] = {weight};
    optim::clip_grad_norm_(parameters, {});
    optimizer.step();
    optimizer.zero_grad();
  }
  rank.record(weight);
  rank.run().yield(rank, CallSite::here());
}

// Memory or allocations of a rank would be those of another program.
TEST(ShapesOnly, FiguresAndScheduleAreThoseOfTheWorldWithData) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    for (std::size_t threads : {1, 2}) {
      WorldOptions options{.ranks = 3, .schedule = Schedule::parse(schedule), .threads = threads};
      std::vector<RankFigures> with_data(3);
      Outcome full = World(options).run([&](Rank& rank) {
        train_a_little(rank);
        with_data[rank.id()] = RankFigures::of(rank);
      });
      ASSERT_TRUE(full.ok()) << report(full);
      options.shapes_only = true;
      Outcome shapes = World(options).run(train_a_little);
      ASSERT_TRUE(shapes.ok()) << report(shapes);
      EXPECT_EQ(shapes.schedule_hash, full.schedule_hash);
      EXPECT_EQ(shapes.peak_bytes, full.peak_bytes);
      ASSERT_THAT(shapes.figures, SizeIs(3));
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(difference(shapes.figures[i], with_data[i]), "");
        EXPECT_GT(shapes.figures[i].allocations, 0u);
      }
    }
  }
}

// A program that uses memory it gave back would pass where it has no memory.
TEST(ShapesOnly, AFreedStorageIsRefusedAsWithData) {
  using Use = void (*)(Tensor&);
  const Use uses[] = {[](Tensor& freed) { add(freed, 1); },
                      [](Tensor& freed) { freed.clone(); },
                      [](Tensor& freed) { freed.transpose(0, 1).clone(); },
                      [](Tensor& freed) {
                        Tensor other = zeros({2, 3}, DType::float32);
                        copy_(other, freed);
                      },
                      [](Tensor& freed) {
                        Tensor other = zeros({2, 3}, DType::float32);
                        copy_(freed, other);
                      },
                      [](Tensor& freed) {
                        Tensor other = zeros({2, 3}, DType::float32);
                        adopt_(other, freed);
                      }};
  for (Use use : uses)
    for (bool shapes_only : {false, true}) {
      Outcome outcome = World({.ranks = 1, .shapes_only = shapes_only}).run([&](Rank&) {
        Tensor x = zeros({2, 3}, DType::float32);
        x.storage()->free();
        use(x);
      });
      EXPECT_THAT(outcome.ok() ? "no error" : outcome.failure->message,
                  HasSubstr("expected a tensor with data, got one whose storage of 24 bytes was "
                            "freed"));
    }
}

// A freed tensor that gets the elements of another one has memory again.
TEST(ShapesOnly, AFreedStorageThatAdoptsIsThereAgain) {
  for (bool shapes_only : {false, true}) {
    Outcome outcome = World({.ranks = 1, .shapes_only = shapes_only}).run([](Rank& rank) {
      Tensor x = zeros({2, 3}, DType::float32), other = ones({2, 3}, DType::float32);
      x.storage()->free();
      adopt_(x, other);
      rank.record(add(x, 1));
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

// A tensor that no machine could hold is charged in full and costs no memory here.
TEST(ShapesOnly, TensorsAreChargedAndTakeNoBytes) {
  constexpr std::int64_t elements = std::int64_t(1) << 45;
  World world({.shapes_only = true});
  Outcome outcome = world.run([](Rank& rank) {
    Tensor x = zeros({elements}, DType::float32);
    Tensor y = add(x, 1);
    SIMMESH_CHECK(rank.ledger().total().current == elements * 8, "both are charged");
    y.storage()->free();
    SIMMESH_CHECK(rank.ledger().total().current == elements * 4, "one was freed");
    y.storage()->restore();
    SIMMESH_CHECK(!y.is_meta() && !y.has_elements(), "a device tensor without elements");
    SIMMESH_CHECK(to_string(y) == "float32[35184372088832] of shapes only", "{}", to_string(y));
  });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.peak_bytes, elements * 8);
  EXPECT_EQ(outcome.physical_peak_bytes, 0);
}

// A program that depends on values would go wrong in silence.
TEST(ShapesOnly, ReadingAValueIsAnError) {
  World world({.shapes_only = true});
  for (const auto& read : std::vector<std::function<void(Tensor&)>>{
           [](Tensor& x) { x.values<float>(); }, [](Tensor& x) { x.mutable_values<float>(); },
           [](Tensor& x) { same_bits(x, x.clone()); }}) {
    Outcome outcome = world.run([&](Rank&) {
      Tensor x = zeros({2}, DType::float32);
      read(x);
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.failure->message, HasSubstr("of a world of shapes only"));
  }
}

// The mode of one world would leak into another.
TEST(ShapesOnly, WorldsInsideHaveTheirOwnMode) {
  World outer({.ranks = 2, .shapes_only = true});
  Outcome outcome = outer.run([](Rank&) {
    World inner({.ranks = 2});
    Outcome full = inner.run([](Rank&) {
      SIMMESH_CHECK(ones({2}, DType::float32).values<float>()[1] == 1, "there is data");
    });
    SIMMESH_CHECK(full.ok(), "{}", report(full));
    SIMMESH_CHECK(DataMode::shapes_only() && !ones({2}, DType::float32).has_elements(),
                  "none here");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_FALSE(DataMode::shapes_only());
}

TEST(ShapesOnly, OptionsThatMakeNoSenseAreRefused) {
  auto refused = [](const WorldOptions& options) {
    return error_text([&] { World world(options); });
  };
  EXPECT_THAT(refused({.ranks = 2, .fold = true}), HasSubstr("expected shapes_only"));
  EXPECT_THAT(refused({.ranks = 2, .shapes_only = true, .folded_onto = {1}}),
              HasSubstr("expected fold"));
  EXPECT_THAT(refused({.ranks = 2, .shapes_only = true, .fold = true, .folded_onto = {2}}),
              HasSubstr("expected folded_onto below the 2 ranks"));
  EXPECT_THAT(refused({.ranks = 3, .shapes_only = true, .fold = true, .folded_alike = {{0, 1}}}),
              HasSubstr("expected pairs of ranks of folded_onto in folded_alike, got rank 1"));
}

// The wrong ranks would run, or the outcome wouldn't say that only they did.
TEST(ShapesOnly, AFoldedWorldRunsFewRanksAndSaysSo) {
  for (std::size_t threads : {1, 2}) {
    WorldOptions options{.ranks = 100000, .threads = threads, .shapes_only = true, .fold = true};
    std::vector<RankId> ran;
    std::mutex mutex;
    auto body = [&](Rank& rank) {
      Tensor x = zeros({4}, DType::float32);
      std::lock_guard lock(mutex);
      ran.push_back(rank.id());
    };
    Outcome outcome = World(options).run(body);
    ASSERT_TRUE(outcome.ok()) << report(outcome);
    std::sort(ran.begin(), ran.end());
    EXPECT_EQ(ran, (std::vector<RankId>{0, 99999}));
    EXPECT_TRUE(outcome.is_folded());
    EXPECT_THAT(outcome.fold_difference, IsEmpty());
    EXPECT_THAT(to_string(outcome), HasSubstr("2 of 100000 ranks were run, of shapes only, and "
                                              "stand for all of them, "));
    ran.clear();
    options.folded_onto = {7};
    EXPECT_THAT(to_string(World(options).run(body)), HasSubstr("1 of 100000 ranks was run"));
    EXPECT_EQ(ran, (std::vector<RankId>{7}));
  }
}

// Ranks that differ can't stand for the others.
TEST(ShapesOnly, FiguresThatDifferAreReported) {
  World world({.ranks = 8, .shapes_only = true, .fold = true});
  Outcome outcome = world.run([](Rank& rank) { zeros({1 + rank.id()}, DType::uint8); });
  EXPECT_EQ(outcome.fold_difference, "peak bytes: 1 on rank 0, 8 on rank 7");
  EXPECT_THAT(to_string(outcome), HasSubstr("but their figures differ: peak bytes"));
}

// Ranks of several kinds stand for those of their own kind.
TEST(ShapesOnly, EachKindOfRanksIsComparedByItself) {
  WorldOptions options{.ranks = 8,
                       .shapes_only = true,
                       .fold = true,
                       .folded_onto = {0, 1, 6, 7},
                       .folded_alike = {{0, 6}, {1, 7}}};
  auto difference_of = [&](auto bytes) {
    return World(options)
        .run([&](Rank& rank) { zeros({bytes(rank.id())}, DType::uint8); })
        .fold_difference;
  };
  EXPECT_EQ(difference_of([](RankId rank) { return 1 + rank % 2; }), "");
  EXPECT_EQ(difference_of([](RankId rank) { return 1 + rank % 7; }),
            "peak bytes: 1 on rank 0, 7 on rank 6");
  EXPECT_EQ(difference_of([](RankId rank) { return rank == 7 ? 5 : 1; }),
            "peak bytes: 1 on rank 1, 5 on rank 7");
}

}  // namespace
}  // namespace simmesh
