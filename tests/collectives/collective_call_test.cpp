#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/group.h"
#include "collectives/work.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "tests/expect_error.h"

// The tests check which calls are refused and by whom, and that both sides of a mismatch are named
// under every schedule.
namespace simmesh {
namespace {

using ::testing::HasSubstr;
using Body = std::function<void(Rank&, const ProcessGroup&)>;

std::string message_of(std::size_t ranks, const Body& body, const char* schedule = "fifo") {
  World world({.ranks = ranks, .schedule = Schedule::parse(schedule)});
  Outcome outcome = world.run([&](Rank& rank) { body(rank, ProcessGroup::world()); });
  return outcome.ok() ? "ok" : outcome.failure->message;
}

void expect_mismatch(const char* words, const Body& body) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    std::string message = message_of(2, body, schedule);
    EXPECT_THAT(message, HasSubstr(words)) << schedule;
    EXPECT_THAT(message, HasSubstr("[collectives/mismatch] collective #0 of group world [0, 1]"));
    EXPECT_THAT(message, HasSubstr("rank 0 calls "));
    EXPECT_THAT(message, HasSubstr("rank 1 calls "));
  }
}

TEST(CollectiveCall, MismatchesNameBothSides) {
  Tensor four = zeros({4}, DType::float32);
  expect_mismatch("the operations differ", [=](Rank& rank, const ProcessGroup& group) {
    if (rank.id() == 0)
      barrier(group);
    else
      all_reduce(four, ReduceOp::sum, group);
  });
  expect_mismatch("the shapes differ", [](Rank& rank, const ProcessGroup& group) {
    all_reduce(zeros({4 + rank.id()}, DType::float32), ReduceOp::sum, group);
  });
  expect_mismatch("the dtypes differ", [](Rank& rank, const ProcessGroup& group) {
    all_reduce(zeros({4}, rank.id() ? DType::int32 : DType::float32), ReduceOp::sum, group);
  });
  expect_mismatch("the dtypes differ", [=](Rank& rank, const ProcessGroup& group) {
    start_collective(group, {.op = CollectiveOp::all_reduce,
                             .inputs = {&four, 1},
                             .host_dtypes = rank.id() ? "int16" : nullptr});
  });
  expect_mismatch("the reduce operations differ", [=](Rank& rank, const ProcessGroup& group) {
    all_reduce(four, rank.id() ? ReduceOp::sum : ReduceOp::max, group);
  });
  expect_mismatch("the roots differ", [=](Rank& rank, const ProcessGroup& group) {
    broadcast(four, rank.id(), group);
  });
  expect_mismatch("the dims differ", [](Rank& rank, const ProcessGroup& group) {
    all_gather(zeros({2, 2}, DType::float32), {.dim = rank.id()}, group);
  });
  expect_mismatch("the numbers of operands differ", [=](Rank& rank, const ProcessGroup& group) {
    std::vector<Tensor> inputs(1 + rank.id(), four);
    all_reduce_coalesced(inputs, ReduceOp::sum, group);
  });
}

// Each member's order of calls is its own; the sequence number shows where they part.
TEST(CollectiveCall, AnotherOrderIsAMismatch) {
  expect_mismatch("the operations differ", [](Rank& rank, const ProcessGroup& group) {
    Tensor tensor = zeros({2}, DType::float32);
    if (rank.id() == 0) {
      barrier(group);
      all_gather(tensor, {}, group);
    } else {
      all_gather(tensor, {}, group);
      barrier(group);
    }
  });
}

// Dtypes of the program around the World that the same dtype of a tensor stands for.
TEST(CollectiveCall, WordsOfTheHostAreShown) {
  EXPECT_EQ(host_dtypes_of({}), "");
  Tensor four = zeros({4}, DType::uint8);
  CollectiveCall call{.op = CollectiveOp::broadcast, .inputs = {&four, 1}, .host_dtypes = "int8"};
  EXPECT_THAT(to_string(call), HasSubstr("broadcast from root 0 of uint8[4] (int8) at "));
}

TEST(CollectiveCall, SplitsMustAgreeBetweenSenderAndReceiver) {
  std::string message = message_of(2, [](Rank&, const ProcessGroup& group) {
    all_to_all_single(zeros({3}, DType::float32), {.input = {1, 2}, .output = {1, 1}}, group);
  });
  EXPECT_THAT(message, HasSubstr("sends 2 rows to member 1, which expects 1"));
  // No other member knows of the rows that a rank sends to itself.
  message = message_of(1, [](Rank&, const ProcessGroup& group) {
    all_to_all_single(zeros({3}, DType::float32), {.input = {3}, .output = {5}}, group);
  });
  EXPECT_THAT(message, HasSubstr("member 0 sends 3 rows to member 0, which expects 5"));
  EXPECT_THAT(message, HasSubstr("elements: rank 0 calls all_to_all"));
  // One side alone may have equal parts.
  Dims splits{1, 3};
  Tensor four = zeros({4}, DType::float32);
  expect_mismatch("rows to member", [=](Rank& rank, const ProcessGroup& group) {
    CollectiveCall call{.op = CollectiveOp::all_to_all, .inputs = {&four, 1}};
    if (rank.id() == 0) call.input_splits = call.output_splits = splits;
    start_collective(group, call);
  });
}

TEST(CollectiveCall, RefusalsCarryPyTorchsClasses) {
  Membership group({.id = 0, .name = "dp", .members = RankList::range(3)}, {});
  auto kind_of = [&](const CollectiveCall& call) {
    try {
      check_call(call, {group});
    } catch (const Error& error) {
      return to_string(error.kind());
    }
    return std::string_view("ok");
  };
  Tensor floats[] = {zeros({4, 3}, DType::float32)};
  Tensor integers[] = {zeros({3}, DType::int64)};
  EXPECT_EQ(kind_of({.op = CollectiveOp::reduce_scatter, .inputs = floats}), "AssertionError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::reduce_scatter, .dim = 1, .inputs = floats}), "ok");
  EXPECT_EQ(kind_of({.op = CollectiveOp::reduce_scatter, .uneven = true, .inputs = floats}), "ok");
  EXPECT_EQ(kind_of({.op = CollectiveOp::all_gather, .dim = 2, .inputs = floats}), "IndexError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::broadcast, .root = 3, .inputs = floats}), "IndexError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::all_reduce, .reduce = ReduceOp::avg, .inputs = integers}),
            "TypeError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::all_reduce, .reduce = ReduceOp::band, .inputs = floats}),
            "TypeError");
  Tensor two[] = {zeros({3}, DType::float32), zeros({3}, DType::float32)};
  EXPECT_EQ(kind_of({.op = CollectiveOp::all_to_all_list, .inputs = two}), "ValueError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::scatter, .inputs = two}), "ValueError");
  EXPECT_EQ(kind_of({.op = CollectiveOp::scatter, .root = 1, .inputs = {}}), "ok");
  EXPECT_EQ(kind_of({.op = CollectiveOp::gather, .inputs = two}), "ValueError");
  EXPECT_THROW(ReduceWith::named("mean"), Error);
}

// If this fails, a wrong call of a long program must be looked for by hand.
TEST(CollectiveCall, RefusalsNameRankNumberAndGroup) {
  Membership group({.id = 0, .name = "dp", .members = RankList::of({4, 6})}, {});
  Tensor integers[] = {zeros({3}, DType::int64)};
  CollectiveCall call{.op = CollectiveOp::all_reduce,
                      .reduce = ReduceOp::band,
                      .inputs = integers,
                      .site = {"train.py", 7}};
  call.reduce = ReduceOp::avg;
  testing::expect_error(
      [&] {
        check_call(call, {group, 1, 5});
      },
      ErrorKind::type_error,
      "[collectives] rank 6: all_reduce(avg) of int64[3] at train.py:7, #5 of "
      "group dp [4, 6]: expected a floating dtype");
}

}  // namespace
}  // namespace simmesh
