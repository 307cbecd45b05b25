#include "collectives/output_check.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "tests/expect_error.h"

// If one of these fails, a result is written to memory that can't hold it, or the rank whose output
// is right gets the error.
namespace simmesh {
namespace {

using testing::expect_error;

constexpr std::size_t ranks = 3;

Membership group_of_three() {
  return Membership({.id = 0, .name = "dp", .members = RankList::range(ranks)}, {});
}

HostArray array(std::int64_t count, DType dtype = DType::float32, const char* word = nullptr) {
  HostArray made{.dtype = dtype, .shape = {count}, .strides = {1}};
  made.host_dtype = word;
  return made;
}

struct Case {
  CollectiveCall call;
  std::size_t member;
  std::int64_t operand;               // elements
  std::vector<std::int64_t> outputs;  // elements of each
};

// Checks memory with the outputs of a case, one of which has `more` elements more.
void check(const Case& of, std::size_t changed, std::int64_t more) {
  static const Membership group = group_of_three();
  bool is_list = of.call.op == CollectiveOp::all_to_all_list ||
                 (of.call.op == CollectiveOp::scatter && of.member == 0);
  std::vector<HostArray> operands(is_list ? ranks : 1, array(of.operand)), outputs;
  for (std::int64_t count : of.outputs) outputs.push_back(array(count));
  if (changed < outputs.size()) outputs[changed].shape[0] += more;
  HostMemory memory(operands, outputs);
  CollectiveCall call = of.call;
  std::vector<Tensor> inputs = memory.placeholders();
  if (call.op == CollectiveOp::barrier) inputs.clear();
  call.inputs = inputs;
  check_outputs(memory, call, {group, of.member});
}

std::vector<Case> right_cases() {
  static const Dims two_each{2, 2, 2}, uneven{1, 0, 4};
  return {{{.op = CollectiveOp::barrier}, 0, 0, {}},
          {{.op = CollectiveOp::all_reduce}, 1, 6, {6}},
          {{.op = CollectiveOp::broadcast}, 1, 6, {6}},
          {{.op = CollectiveOp::reduce}, 0, 6, {6}},
          {{.op = CollectiveOp::reduce}, 1, 6, {}},
          {{.op = CollectiveOp::all_gather}, 2, 6, {18}},
          {{.op = CollectiveOp::all_gather_list}, 2, 6, {1, 2, 6}},
          {{.op = CollectiveOp::gather}, 0, 6, {6, 7, 8}},
          {{.op = CollectiveOp::gather}, 1, 6, {}},
          {{.op = CollectiveOp::reduce_scatter}, 1, 6, {2}},
          {{.op = CollectiveOp::scatter}, 0, 6, {6}},
          {{.op = CollectiveOp::scatter, .root = 1}, 0, 6, {4}},
          {{.op = CollectiveOp::all_to_all}, 0, 6, {6}},
          {{.op = CollectiveOp::all_to_all, .input_splits = two_each, .output_splits = uneven},
           0,
           6,
           {5}},
          {{.op = CollectiveOp::all_to_all_list}, 1, 6, {1, 6, 2}}};
}

TEST(OutputCheck, TakesOutputsThatFit) {
  for (const Case& each : right_cases())
    EXPECT_NO_THROW(check(each, 9, 0)) << name_of(each.call.op);
}

TEST(OutputCheck, RefusesOutputsOfAnotherNumberOfElements) {
  for (const Case& each : right_cases()) {
    // Only the root knows what it scatters.
    bool is_known = each.call.op != CollectiveOp::scatter || each.member == 0;
    if (each.outputs.empty() || (each.call.op == CollectiveOp::scatter && each.call.root == 1))
      continue;
    std::size_t own = each.outputs.size() == ranks ? each.member : 0;
    ASSERT_TRUE(is_known);
    for (std::int64_t more : {-1, 1})
      expect_error([&] { check(each, own, more); }, ErrorKind::value_error, "expected ");
  }
}

TEST(OutputCheck, RefusesAnotherNumberOfOutputs) {
  for (Case each : right_cases()) {
    each.outputs.push_back(6);
    expect_error([&] { check(each, 9, 0); }, ErrorKind::value_error, "output tensors, got ");
  }
}

TEST(OutputCheck, RefusesAnotherDtypeAlsoOfTheHost) {
  Membership group = group_of_three();
  for (const HostArray& output : {array(6, DType::int32), array(6, DType::uint8, "int8")}) {
    HostMemory memory({array(6, output.dtype == DType::uint8 ? DType::uint8 : DType::float32)},
                      {output});
    std::vector<Tensor> inputs = memory.placeholders();
    expect_error(
        [&] { check_outputs(memory, {.op = CollectiveOp::all_reduce, .inputs = inputs}, {group}); },
        ErrorKind::type_error, "expected an output of 6 elements of ");
  }
}

TEST(OutputCheck, ComparesListsPairByPair) {
  CollectiveCall call{.op = CollectiveOp::all_gather_list};
  HostMemory first({array(2)}, {array(2), array(3)}), right({array(3)}, {array(2), array(3)}),
      wrong({array(4)}, {array(2), array(4)});
  EXPECT_EQ(disagreement_on_outputs(call, {0, first}, {1, right}), "");
  EXPECT_EQ(disagreement_on_outputs(call, {0, first}, {1, wrong}),
            "member 1 gives float32[4] to member 0, whose output for it is float32[3]");
}

// The same of tensors of our own: shapes count, and the sizes of uneven pieces are found late.
TEST(OutputCheck, TensorsGetTheErrorOnTheirRank) {
  auto message_of = [](const std::function<void(const ProcessGroup&, Tensor&)>& call, Dims right,
                       Dims wrong) {
    std::string first;
    for (const char* schedule : {"fifo", "seeded:1", "pct:2"}) {
      World world({.ranks = ranks, .schedule = Schedule::parse(schedule)});
      Outcome outcome = world.run([&](Rank& rank) {
        Tensor output = zeros(rank.id() == 1 ? wrong : right, DType::float32);
        call(ProcessGroup::world(), output);
      });
      std::string message = outcome.ok() ? "ok" : outcome.failure->message;
      if (first.empty()) first = message;
      EXPECT_EQ(message, first) << schedule;
    }
    return first;
  };
  Tensor piece = zeros({2, 4}, DType::float32), whole = zeros({6, 4}, DType::float32);
  std::string text = message_of(
      [&](const ProcessGroup& group, Tensor& out) { all_gather_(out, piece, {}, group); }, {6, 4},
      {5, 4});
  EXPECT_THAT(text, ::testing::StartsWith("[collectives] rank 1: all_gather along dim 0 of "
                                          "float32[2, 4] at output_check_test.cpp:"));
  EXPECT_THAT(text, ::testing::EndsWith("#0 of group world [0, 1, 2]: expected an output of "
                                        "float32[6, 4], got float32[5, 4]"));
  text = message_of([&](const ProcessGroup& group,
                        Tensor& out) { all_gather_(out, piece, {.uneven = true}, group); },
                    {6, 4}, {6, 5});
  EXPECT_THAT(text,
              ::testing::EndsWith("expected an output of float32[any, 4], got float32[6, 5]"));
  text = message_of([&](const ProcessGroup& group,
                        Tensor& out) { all_gather_(out, piece, {.uneven = true}, group); },
                    {6, 4}, {7, 4});
  EXPECT_THAT(text, ::testing::HasSubstr("rank 1: all_gather"));
  EXPECT_THAT(text, ::testing::EndsWith("expected an output of float32[6, 4], got float32[7, 4]"));
  text = message_of([&](const ProcessGroup& group,
                        Tensor& out) { reduce_scatter_(out, whole, ReduceOp::sum, {}, group); },
                    {2, 4}, {3, 4});
  EXPECT_THAT(text, ::testing::EndsWith("expected an output of float32[2, 4], got float32[3, 4]"));
}

}  // namespace
}  // namespace simmesh
