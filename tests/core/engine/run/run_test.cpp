#include "core/engine/run/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/deputy.h"
#include "core/engine/run/shared.h"
#include "core/engine/world.h"
#include "core/tensor/tensor.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using Body = std::function<void(Rank&)>;

struct Begun {
  std::uint64_t times = 0;
};

// Every body begins with it: what a rank finds at its start is recorded.
void begin(Rank& rank) {
  auto& run = rank.run();
  run.take_turn(rank);
  rank.record(std::uint64_t(run.seconds() * 1000));
  rank.record(rank.operations());
  rank.record(++rank.state<Begun>().times);
  if (rank.id() == 0) rank.record(++run.state<Begun>().times);
  rank.record(std::uint64_t(rank.ledger().total().current));
  rank.record(rank.random().next());
  run.record({.rank = rank.id(), .operation = "begin", .elements = rank.id(), .site = {}});
}

void use_memory(Rank& rank, std::int64_t floats) {
  Tensor tensor = zeros({floats}, DType::float32);
  Tensor other = tensor.clone();
  rank.yield();
  rank.record(other);
}

void pass(Rank& rank) {
  begin(rank);
  use_memory(rank, 10);
}

void use_much_memory(Rank& rank) {
  begin(rank);
  use_memory(rank, 100'000);
}

void fail(Rank& rank) {
  begin(rank);
  Tensor held = zeros({100}, DType::float32);
  if (rank.id() == 1) raise(ErrorKind::value_error, "test", "rank 1 gives up");
  rank.run().block(rank, {.operation = "waiting"});
}

void deadlock(Rank& rank) {
  begin(rank);
  rank.run().begin_operation(rank, "meet", CallSite());
  if (rank.id() != 2) rank.run().block(rank, {.operation = "meeting"});
}

void interrupt(Rank& rank) {
  begin(rank);
  for (;;) {
    rank.yield();
    if (rank.run().step() > 20) rank.run().interrupt();
  }
}

void sleep(Rank& rank) {
  begin(rank);
  rank.sleep(1.5 + rank.id());
  rank.run().take_turn(rank);
  rank.run().block_until(rank, {.operation = "doze"}, 10);
  rank.record(std::uint64_t(rank.seconds() * 1000));
}

// One rank sleeps, and one's deadline has come, when the run ends.
void fail_in_sleep(Rank& rank) {
  begin(rank);
  rank.sleep(rank.id() == 2 ? 100 : 1);
  if (rank.id() == 0) raise(ErrorKind::value_error, "test", "rank 0 wakes up badly");
  rank.sleep(1);
}

void touch(Rank& rank) {
  begin(rank);
  static Shared<std::uint64_t> shared("shared", 0);
  rank.record(std::uint64_t(shared.use([](std::uint64_t& value) { return value; })));
  DeputyTask task = Deputy::of_this_rank(0).start([] { this_rank().yield(); });
  task.is_done();
  task.wait();
}

// A deputy of a crew fails and another one is stranded. Nobody asks for one failure, and some work
// stays on a list.
void lose_deputies(Rank& rank) {
  begin(rank);
  auto work = [id = rank.id()] {
    if (id == 1) raise(ErrorKind::value_error, "test", "the work of rank 1 fails");
    Rank& deputy = this_rank();
    deputy.run().take_turn(deputy);
    if (id == 0) deputy.run().block(deputy, {.operation = "meeting"});
  };
  DeputyTask task = Deputy::of_this_rank(0).start(work);
  if (rank.id() == 0) Deputy::of_this_rank(0).start([] {});
  if (rank.id() != 1) task.wait();
}

// A rank swallows the end of its run a few times.
void linger(Rank& rank) {
  begin(rank);
  if (rank.id() == 2) raise(ErrorKind::value_error, "test", "rank 2 gives up");
  for (int i = 0; i < 150; ++i) try {
      rank.run().block(rank, {.operation = "waiting"});
    } catch (const RankEnded&) {
    }
}

const std::vector<std::pair<const char*, Body>> bodies = {
    {"pass", pass},
    {"use_much_memory", use_much_memory},
    {"fail", fail},
    {"deadlock", deadlock},
    {"interrupt", interrupt},
    {"sleep", sleep},
    {"fail_in_sleep", fail_in_sleep},
    {"touch", touch},
    {"lose_deputies", lose_deputies},
    {"linger", linger},
};

std::string figures_of(const RankFigures& figures) {
  return fmt::format("{}: {} {} {} {}; ", figures.rank, figures.total.current, figures.total.peak,
                     figures.allocations, figures.operations);
}

// Returns all that an outcome says, and the trace file.
std::string all_of(const Outcome& outcome, const WorldOptions& options) {
  std::string text = fmt::format(
      "{}\ndata {:x} schedule {:x} steps {} ranks {} peak {} copies {} live {}\n",
      to_string(outcome), outcome.data_hash, outcome.schedule_hash, outcome.steps, outcome.ranks,
      outcome.peak_bytes, outcome.copies_on_write, outcome.live_storages);
  // With several threads it depends on their timing.
  if (options.threads == 1) text += fmt::format("physical {}\n", outcome.physical_peak_bytes);
  text += "choices " + choices_to_string(outcome.choices) + "\ntouches ";
  for (const Touch& touch : outcome.touches)
    text += fmt::format("{} {} {:x}; ", touch.step, touch.rank, touch.object);
  text += "\nfigures ";
  for (const RankFigures& figures : outcome.figures) text += figures_of(figures);
  text += "\ndevices ";
  for (const DeviceReport& report : outcome.devices)
    text += fmt::format("{} {}; ", report.makespan_us, report.memory.reserved.peak);
  if (outcome.failure)
    text += fmt::format("\nfailure {} {} {}", int(outcome.failure->kind), outcome.failure->rank,
                        outcome.failure->details);
  return text;
}

// Returns what the last of some runs of one World gives.
std::string result_of(const WorldOptions& options, const std::vector<Body>& runs) {
  testing::TemporaryFolder folder;
  WorldOptions own = options;
  bool is_traced = !options.trace_file.empty();
  if (is_traced) own.trace_file = (folder.path() / options.trace_file).string();
  World world(own);
  Outcome outcome;
  for (const Body& body : runs) outcome = world.run(body);
  return all_of(outcome, own) + (is_traced ? folder.read(options.trace_file) : "");
}

std::vector<WorldOptions> kinds_of_worlds() {
  WorldOptions plain{.ranks = 3, .deputies = 1, .record_choices = true};
  std::vector<WorldOptions> kinds;
  for (const char* schedule : {"fifo", "seeded:3", "pct:3"}) {
    plain.schedule = Schedule::parse(schedule);
    kinds.push_back(plain);
  }
  auto add = [&](auto change) { change(kinds.emplace_back(plain)); };
  add([](WorldOptions& options) { options.threads = 2; });
  add([](WorldOptions& options) { options.ranks_are_threads = true; });
  add([](WorldOptions& options) { options.trace_events_max = 5; });
  add([](WorldOptions& options) { options.trace_file = "trace.json"; });
  add([](WorldOptions& options) { options.device = DeviceModel(); });
  add([](WorldOptions& options) { options.shapes_only = true; });
  add([](WorldOptions& options) { options.guard_pages = false; });
  add([](WorldOptions& options) {
    options.faults = {Fault::kill({.rank = 0, .operation = 1}), Fault::starve(2)};
  });
  add([](WorldOptions& options) {
    options.faults = {Fault::fail_allocation({.rank = 1, .allocation = 1})};
  });
  return kinds;
}

// If this fails, what a run gives depends on the runs before it: state has leaked.
TEST(Run, GivesWhatAFreshWorldGives) {
  std::vector<WorldOptions> kinds = kinds_of_worlds();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (const auto& [name, body] : bodies) {
      std::string fresh = result_of(kinds[kind], {body});
      for (const auto& [earlier_name, earlier] : bodies)
        EXPECT_EQ(result_of(kinds[kind], {earlier, body}), fresh)
            << name << " after " << earlier_name << " in a World of kind " << kind;
    }
}

// The bodies above would prove nothing if they didn't end in different ways.
TEST(Run, EndsInEveryWay) {
  std::set<std::string> endings;
  for (const auto& [name, body] : bodies) {
    Outcome outcome = World(kinds_of_worlds()[0]).run(body);
    if (!outcome.ok()) endings.insert(outcome.failure->message);
  }
  EXPECT_THAT(endings, ::testing::UnorderedElementsAre(
                           "[test] rank 1 gives up", "[test] rank 0 wakes up badly",
                           "[test] rank 2 gives up", ::testing::HasSubstr("[engine/interrupt]"),
                           ::testing::HasSubstr("[engine/deadlock]"),
                           ::testing::HasSubstr("deputy 0 of rank 0 can't go on")));
}

// A number that two runs share would let a group of one pass for a group of the other.
TEST(Run, HasANumberOfItsOwn) {
  std::set<std::uint32_t> numbers;
  World first({.ranks = 1}), second({.ranks = 1});
  for (World* world : {&first, &second, &first})
    world->run([&](Rank& rank) {
      EXPECT_EQ(rank.run().number(), rank.run_number());
      numbers.insert(rank.run_number());
    });
  EXPECT_EQ(numbers.size(), 3u);
}

}  // namespace
}  // namespace simmesh
