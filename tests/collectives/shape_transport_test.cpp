#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

using CollectiveBody = std::function<std::vector<Tensor>(Rank&)>;

struct CollectiveRow {
  std::string name;
  CollectiveBody body;
  bool folds = true;  // its shapes don't depend on ranks that aren't run
};

ProcessGroup everyone() { return ProcessGroup::world(); }

Tensor piece(std::initializer_list<std::int64_t> shape) { return zeros(shape, DType::float32); }

// Rank r has r + 1 rows.
Tensor ragged(Rank& rank) { return piece({rank.id() + 1, 3}); }

std::vector<CollectiveRow> gathering_rows() {
  return {
      {"all_gather",
       [](Rank&) {
         return std::vector{all_gather(piece({2, 3}), {.dim = 1}, everyone())};
       }},
      {"all_gather of strided pieces",
       [](Rank&) {
         return std::vector{all_gather(piece({2, 3}).transpose(0, 1), {.dim = 0}, everyone())};
       }},
      {"all_gather, uneven",
       [](Rank& rank) {
         return std::vector{all_gather(ragged(rank), {.dim = 0, .uneven = true}, everyone())};
       },
       false},
      {"all_gather_list",
       [](Rank&) {
         return all_gather_list(piece({2, 3}), everyone());
       }},
      {"gather", [](Rank&) { return gather(piece({4}), 0, everyone()); }},
      {"started",
       [](Rank&) {
         Work work = all_gather_async(piece({6}), {.dim = 0}, everyone());
         return std::vector{work.wait()};
       }},
  };
}

std::vector<CollectiveRow> reducing_rows(std::int64_t n) {
  return {
      {"barrier",
       [](Rank&) {
         barrier(everyone());
         return std::vector<Tensor>();
       }},
      {"all_reduce",
       [](Rank&) {
         return std::vector{all_reduce(piece({2, 3}), ReduceOp::sum, everyone())};
       }},
      {"coalesced",
       [](Rank&) {
         Tensor both[] = {piece({2}), piece({3, 1})};
         return all_reduce_coalesced(both, ReduceOp::max, everyone());
       }},
      {"reduce_scatter",
       [n](Rank&) {
         return std::vector{
             reduce_scatter(piece({2 * n, 3}), ReduceOp::avg, {.dim = 0}, everyone())};
       }},
      {"reduce_scatter, uneven",
       [](Rank&) {
         Along along{.dim = 0, .uneven = true};
         return std::vector{reduce_scatter(piece({5}), ReduceOp::sum, along, everyone())};
       }},
      {"reduce",
       [](Rank&) { return std::vector{reduce(piece({4}), ReduceOp::sum, 0, everyone())}; }},
  };
}

std::vector<CollectiveRow> exchanging_rows(std::int64_t n) {
  return {
      {"broadcast", [n](Rank&) { return std::vector{broadcast(piece({4}), n - 1, everyone())}; }},
      {"scatter",
       [n](Rank& rank) {
         std::vector<Tensor> pieces;
         for (std::int64_t i = 0; rank.id() == n - 1 && i < n; ++i) pieces.push_back(piece({i}));
         return std::vector{scatter(pieces, n - 1, everyone())};
       }},
      {"all_to_all",
       [n](Rank&) {
         return std::vector{
             all_to_all(piece({2 * n, 3}), {.scatter_dim = 0, .gather_dim = 1}, everyone())};
       }},
      {"all_to_all along one dim",
       [n](Rank&) {
         return std::vector{all_to_all(piece({2 * n, 3}), {}, everyone())};
       }},
      {"all_to_all with splits",
       [n](Rank& rank) {
         Splits splits;
         for (std::int64_t i = 0; i < n; ++i) {
           splits.input.push_back(i + 1);
           splits.output.push_back(rank.id() + 1);
         }
         return std::vector{all_to_all_single(piece({n * (n + 1) / 2, 2}), splits, everyone())};
       },
       false},
      {"all_to_all_list",
       [n](Rank&) {
         std::vector<Tensor> pieces(std::size_t(n), piece({2}));
         return all_to_all_list(pieces, everyone());
       }},
  };
}

std::vector<CollectiveRow> collective_rows(std::int64_t n) {
  std::vector<CollectiveRow> all = gathering_rows();
  for (const std::vector<CollectiveRow>& more : {reducing_rows(n), exchanging_rows(n)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct SeenShapes {
  Outcome outcome;
  std::vector<std::vector<std::string>> shapes;
  std::vector<RankFigures> figures;
};

SeenShapes run_row(WorldOptions options, const CollectiveRow& row) {
  SeenShapes seen{.shapes = std::vector<std::vector<std::string>>(options.ranks),
                  .figures = std::vector<RankFigures>(options.ranks)};
  seen.outcome = World(std::move(options)).run([&](Rank& rank) {
    {
      std::vector<Tensor> results = row.body(rank);
      for (const Tensor& result : results)
        seen.shapes[rank.id()].push_back(
            result.is_defined() ? fmt::format("{}", fmt::join(result.shape(), ",")) : "none");
    }
    seen.figures[rank.id()] = RankFigures::of(rank);
  });
  return seen;
}

// Shapes, memory and schedule would not be those of the collective that brings data.
TEST(ShapeTransport, GivesWhatTheWorldWithDataGives) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    for (std::size_t threads : {1, 2}) {
      for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
        for (const CollectiveRow& row : collective_rows(std::int64_t(ranks))) {
          SCOPED_TRACE(fmt::format("{} of {} ranks, {}", row.name, ranks, schedule));
          WorldOptions options{
              .ranks = ranks, .schedule = Schedule::parse(schedule), .threads = threads};
          SeenShapes full = run_row(options, row);
          ASSERT_TRUE(full.outcome.ok()) << report(full.outcome);
          options.shapes_only = true;
          SeenShapes shapes = run_row(options, row);
          ASSERT_TRUE(shapes.outcome.ok()) << report(shapes.outcome);
          EXPECT_EQ(shapes.shapes, full.shapes);
          EXPECT_EQ(shapes.outcome.schedule_hash, full.outcome.schedule_hash);
          EXPECT_EQ(shapes.outcome.live_storages, 0);
          for (std::size_t i = 0; i < ranks; ++i)
            EXPECT_EQ(difference(shapes.figures[i], full.figures[i]), "");
        }
      }
    }
  }
}

// If this fails, the results of the ranks that are run depend on whether the others are.
TEST(ShapeTransport, AFoldedWorldGivesWhatTheWholeOneGives) {
  for (std::size_t ranks : {2, 3, 5}) {
    for (const CollectiveRow& row : collective_rows(std::int64_t(ranks))) {
      if (row.name == "scatter") continue;  // needs its root: see below
      SCOPED_TRACE(fmt::format("{} of {} ranks", row.name, ranks));
      SeenShapes whole = run_row({.ranks = ranks, .shapes_only = true}, row);
      for (const std::vector<RankId>& onto :
           std::vector<std::vector<RankId>>{{}, {RankId(ranks - 1)}, {0, 1}}) {
        SeenShapes folded =
            run_row({.ranks = ranks, .shapes_only = true, .fold = true, .folded_onto = onto}, row);
        if (!row.folds && folded.outcome.figures.size() < ranks) {
          ASSERT_FALSE(folded.outcome.ok());
          EXPECT_THAT(folded.outcome.failure->message, HasSubstr("folded world doesn't run"));
          continue;
        }
        ASSERT_TRUE(folded.outcome.ok()) << report(folded.outcome);
        for (const RankFigures& figures : folded.outcome.figures) {
          EXPECT_EQ(folded.shapes[figures.rank], whole.shapes[figures.rank]);
          EXPECT_EQ(difference(figures, whole.figures[figures.rank]), "");
        }
      }
    }
  }
}

// A list whose root isn't run is known to nobody.
TEST(ShapeTransport, RefusesWhatARootThatIsNotRunHandsOut) {
  World world({.ranks = 4, .shapes_only = true, .fold = true});
  Outcome outcome = world.run([](Rank&) { scatter({}, 2, everyone()); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, HasSubstr("a root that isn't run"));
}

// Pieces of the chunk rule are equal where the first and the last are.
TEST(ShapeTransport, EvenPiecesNeedTheFirstAndTheLastMember) {
  auto gathered = [](std::vector<RankId> onto) {
    World world({.ranks = 4, .shapes_only = true, .fold = true, .folded_onto = std::move(onto)});
    return world.run([](Rank&) {
      Tensor whole = all_gather(piece({2}), {.dim = 0, .uneven = true}, everyone());
      SIMMESH_CHECK(whole.size(0) == 8, "4 pieces of 2");
    });
  };
  EXPECT_TRUE(gathered({0, 3}).ok());
  EXPECT_FALSE(gathered({0}).ok());
}

// Splits are known where each member sends and gets pieces of one size.
TEST(ShapeTransport, EqualSplitsNeedNoOtherMember) {
  auto exchanged = [](const Dims& splits) {
    World world({.ranks = 4, .shapes_only = true, .fold = true});
    return world.run([splits](Rank&) {
      Tensor all = all_to_all_single(piece({8}), {splits, splits}, everyone());
      SIMMESH_CHECK(all.size(0) == 8, "4 pieces of 2");
    });
  };
  EXPECT_TRUE(exchanged({2, 2, 2, 2}).ok());
  Outcome unequal = exchanged({3, 2, 2, 1});
  ASSERT_FALSE(unequal.ok());
  EXPECT_THAT(unequal.failure->message, HasSubstr("member 3 sends 3 rows to member 0"));
}

// A mismatch among the ranks that are run must not go unseen, nor one that never comes.
TEST(ShapeTransport, FoldedWorldsFindMismatchesAndDeadlocks) {
  World world({.ranks = 1000, .shapes_only = true, .fold = true});
  Outcome mismatch =
      world.run([](Rank& rank) { all_reduce(piece({1 + rank.id()}), ReduceOp::sum, everyone()); });
  ASSERT_FALSE(mismatch.ok());
  EXPECT_THAT(mismatch.failure->message, HasSubstr("the shapes differ"));
  Outcome deadlock = world.run([](Rank& rank) {
    if (rank.id() == 0) barrier(everyone());
  });
  ASSERT_FALSE(deadlock.ok());
  EXPECT_THAT(deadlock.failure->message, HasSubstr("no rank can run"));
  EXPECT_THAT(deadlock.failure->details, HasSubstr("rank 999: had returned"));
  EXPECT_THAT(deadlock.failure->details, ::testing::Not(HasSubstr("rank 500")));
}

// Messages carry shapes; a peer that isn't run would never answer.
TEST(ShapeTransport, MessagesNeedPeersThatRun) {
  auto body = [](Rank& rank) {
    if (rank.id() == 0) send(piece({3}), {.peer = 1}, everyone());
    if (rank.id() == 1) {
      Tensor came = recv(Dims{3}, DType::float32, {.peer = 0}, everyone()).tensor;
      SIMMESH_CHECK(came.size(0) == 3 && !came.has_elements(), "a shape came");
    }
  };
  Outcome whole = World({.ranks = 2, .shapes_only = true}).run(body);
  EXPECT_TRUE(whole.ok()) << report(whole);
  Outcome folded = World({.ranks = 9, .shapes_only = true, .fold = true}).run(body);
  ASSERT_FALSE(folded.ok());
  EXPECT_THAT(folded.failure->message, HasSubstr("expected a peer that runs, got rank 1"));
  WorldOptions pair{.ranks = 9, .shapes_only = true, .fold = true, .folded_onto = {0, 1}};
  Outcome both = World(pair).run(body);
  EXPECT_TRUE(both.ok()) << report(both);
  Outcome any = World(pair).run([](Rank&) { recv(Dims{3}, DType::float32, {}, everyone()); });
  ASSERT_FALSE(any.ok());
  EXPECT_THAT(any.failure->message, HasSubstr("expected a peer in a folded world"));
}

// If this fails, programs that agree on something by an object can't run in a world of shapes only.
TEST(ShapeTransport, ObjectsHaveTheirBytes) {
  for (bool folds : {false, true})
    for (std::size_t threads : {1u, 2u}) {
      World world({.ranks = 4, .threads = threads, .shapes_only = true, .fold = folds});
      Outcome outcome = world.run([](Rank& rank) {
        ProcessGroup all = ProcessGroup::world(), pair = ProcessGroup::of(RankList::range(4), "b");
        for (int i = 0; i < 3; ++i)
          for (const ProcessGroup& group : {all, pair})
            for (std::int64_t root : {0, 3}) {
              std::string object = fmt::format("{} {} {}", group.name(), i, root);
              bool is_root = std::int64_t(rank.id()) == root;
              std::string got = broadcast_object(is_root ? object : "", root, group);
              SIMMESH_CHECK(got == object, "expected {}, got {}", object, got);
            }
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
}

}  // namespace
}  // namespace simmesh
