#include "core/engine/run/spread_run.h"

#include <csignal>
#include <gtest/gtest.h>

#include "core/engine/run/known.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "tests/core/engine/spread/run_spread.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using RankBody = std::function<void(Rank&)>;

std::string ending_in(int processes, const RankBody& body, WorldOptions options = {.ranks = 4}) {
  return run_spread(processes, [&](WorldSpread&) { return both_hashes(World(options).run(body)); });
}

std::string ending_alone(const RankBody& body, const WorldOptions& options = {.ranks = 4}) {
  return both_hashes(World(options).run(body));
}

// A ghost's record, which knows no data, would count in the hash in place of its owner's.
TEST(SpreadRun, TakesHashesFromOwners) {
  auto body = [](Rank& rank) {
    rank.yield();
    rank.record(DataMode::shapes_only() ? 0 : rank.id() + 7);
    rank.yield();
  };
  for (int processes : {1, 2, 3, 5}) EXPECT_EQ(ending_in(processes, body), ending_alone(body));
  WorldOptions seeded{.ranks = 5, .deputies = 1, .seed = 4, .schedule = Schedule::seeded()};
  EXPECT_EQ(ending_in(3, body, seeded), ending_alone(body, seeded));
}

// Ghosts would have data, or ranks with data would lose it after a switch.
TEST(SpreadRun, ARankHasDataInItsOwnProcessOnly) {
  EXPECT_EQ(run_spread(2,
                       [](WorldSpread& spread) {
                         std::string wrong;
                         World({.ranks = 4}).run([&](Rank& rank) {
                           bool owns = int(rank.id() / 2) == spread.number();
                           for (int i = 0; i < 3; ++i) {
                             if (DataMode::shapes_only() == owns)
                               wrong += std::to_string(rank.id());
                             rank.yield();
                           }
                         });
                         return wrong + (DataMode::shapes_only() ? " after the run" : "");
                       }),
            "");
}

// A world inside of a rank would be spread again, while its body has the data of one process.
TEST(SpreadRun, AWorldOfARankBelongsToItsOwner) {
  auto body = [](Rank& rank) {
    Outcome inner = World({.ranks = 3}).run([&](Rank& own) {
      own.yield();
      own.record(DataMode::shapes_only() ? 0 : own.id() + 1);
    });
    rank.record(inner.data_hash);
  };
  EXPECT_EQ(ending_in(2, body), ending_alone(body));
}

// Errors that all processes find would end them at different steps, or have another report.
TEST(SpreadRun, ReportsWhatAllProcessesFindAsOneProcessDoes) {
  RankBody deadlock = [](Rank& rank) {
    if (rank.id() != 1) rank.run().block(rank, {.operation = "a wait for nobody"});
  };
  RankBody error = [](Rank& rank) {
    rank.yield();
    if (rank.id() == 2) raise(ErrorKind::value_error, "test/body", "expected another rank");
    rank.yield();
  };
  for (const RankBody& body : {deadlock, error})
    for (int processes : {2, 4}) EXPECT_EQ(ending_in(processes, body), ending_alone(body));
}

// An error that only the owner finds would leave the others waiting for its messages.
TEST(SpreadRun, AnErrorOfTheOwnerEndsAllProcesses) {
  auto body = [](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      known_text("a word", [] { return std::string("word"); });
      rank.yield();
      if (rank.id() == 3 && i == 1 && !DataMode::shapes_only())
        raise(ErrorKind::index_error, "test/kernel", "expected an index below 3, got 7");
    }
  };
  for (int processes : {2, 3, 4}) {
    std::string text = ending_in(processes, body);
    EXPECT_NE(text.find("rank 3 failed: [test/kernel] expected an index below 3, got 7"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("process 1:"), std::string::npos) << text;
  }
}

// Runs after one that ended early would get its messages.
TEST(SpreadRun, TheNextRunStartsAfresh) {
  std::string text = run_spread(3, [](WorldSpread&) {
    std::string endings;
    for (int i = 0; i < 4; ++i) {
      Outcome outcome = World({.ranks = 3}).run([&](Rank& rank) {
        std::string told =
            known_text("a word", [&] { return std::string(std::size_t(i + 1) * 1000, 'a'); });
        if (i % 2 == 0 && rank.id() == 1 && !DataMode::shapes_only()) throw std::bad_alloc();
        rank.record(told.size());
        known_text("a word", [] { return std::string("word"); });
      });
      endings += outcome.ok() ? fmt::format("{:x} ", outcome.data_hash) : "failed ";
    }
    return endings;
  });
  EXPECT_EQ(text.find("failed "), 0u) << text;
  EXPECT_EQ(text.find("process"), std::string::npos) << text;
}

// A program that goes on by what only one process knows would hang, or go on with other bytes.
TEST(SpreadRun, ProcessesThatGoApartAreAnError) {
  std::string text = ending_in(2, [](Rank& rank) {
    bool is_here = !DataMode::shapes_only();
    if (rank.id() == 0)
      known_text(is_here ? "one word" : "another word", [] { return std::string("word"); });
    else
      known_text("a third word", [] { return std::string("word"); });
  });
  EXPECT_NE(text.find("the program takes another way there"), std::string::npos) << text;
}

// Two processes that wait for one another would do so for ever.
TEST(SpreadRun, ProcessesThatWaitForOneAnotherAreAnError) {
  std::string text = ending_in(3,
                               [](Rank& rank) {
                                 // Each rank is a ghost in the processes that wait for it.
                                 if (DataMode::shapes_only())
                                   known_text("a word", [] { return std::string("word"); });
                                 rank.yield();
                               },
                               {.ranks = 3});
  EXPECT_NE(text.find("the program takes another way there"), std::string::npos) << text;
}

// A process that asks for a value while another one is in the next run would wait for ever.
TEST(SpreadRun, AProcessThatIsInNoRunIsAnError) {
  for (int asking : {0, 1}) {
    std::string text = run_spread(2, [&](WorldSpread& spread) {
      if (spread.number() == asking) spread.of_first("the loss", nullptr);
      World({.ranks = 2}).run([](Rank&) {});
      return std::string("went on");
    });
    EXPECT_NE(text.find("the program takes another way there"), std::string::npos) << text;
  }
}

// A process that is killed while ranks run would leave the others waiting.
TEST(SpreadRun, AKilledProcessEndsTheRun) {
  std::string text = run_spread(3, [](WorldSpread& spread) {
    World({.ranks = 3}).run([&](Rank& rank) {
      for (int i = 0; i < 100; ++i) {
        known_text("a word", [] { return std::string("word"); });
        rank.yield();
        if (i == 50 && spread.number() == 1) std::raise(SIGKILL);
      }
    });
    return std::string("went on");
  });
  EXPECT_NE(text.find("process 1 of 3 to go on, got its end: by signal 9"), std::string::npos)
      << text;
}

// Several threads would take steps in an order of their own.
TEST(SpreadRun, RefusesThreads) {
  EXPECT_NE(ending_in(2, [](Rank&) {}, {.ranks = 4, .threads = 2})
                .find("expected a world of fibers on one thread"),
            std::string::npos);
}

}  // namespace
}  // namespace simmesh
