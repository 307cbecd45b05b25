#include "core/ops/elementwise/inplace.h"

#include "core/check/error.h"
#include "core/ops/shapes/factories.h"
#include "tests/every_schedule.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;
using ::testing::Test;

struct InPlaceCall {
  const char* name;
  std::function<void(Tensor& self, const Tensor& other)> change;
};

const InPlaceCall calls[] = {
    {"add number", [](Tensor& x, const Tensor&) { add_(x, 3); }},
    {"mul number", [](Tensor& x, const Tensor&) { mul_(x, -2); }},
    {"add", [](Tensor& x, const Tensor& y) { add_(x, y, 2); }},
    {"mul", [](Tensor& x, const Tensor& y) { mul_(x, y); }},
    {"relu", [](Tensor& x, const Tensor&) { relu_(x); }},
    {"clamp", [](Tensor& x, const Tensor&) { clamp_(x, -1, 2); }},
    {"copy", [](Tensor& x, const Tensor& y) { copy_from_(x, y); }},
    {"fill", [](Tensor& x, const Tensor&) { fill_(x, 7); }},
    {"zero", [](Tensor& x, const Tensor&) { zero_(x); }},
};

bool is_settled(const Placements& list) {
  return std::none_of(list.begin(), list.end(), [](const auto& one) { return one.is_partial(); });
}

// Runs a call, and returns whether it was made: it is refused where the tensor would have to move.
bool is_made(const InPlaceCall& call, Tensor& self, const Tensor& other) {
  try {
    call.change(self, other);
    return true;
  } catch (const Error& error) {
    std::string_view text = error.what();
    bool says_why = text.find("in-place operations that require") != std::string_view::npos ||
                    text.find("supported") != std::string_view::npos;
    EXPECT_TRUE(says_why) << text;
    return false;
  }
}

// A tensor is changed as if its placement were another, or moves. A tensor with the same placements
// is always copied; another one is redistributed first, unless the tensor's dim is too short to be
// cut for each rank.
TEST(InPlaceStrategies, ChangeTheWholeTensorOrRefuse) {
  Tensor first = formula({5, 2}, {.rule = Rule::small, .seed = 1});
  Tensor second = formula({5, 2}, {.rule = Rule::small, .seed = 2});
  run_every_schedule(4, [&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({4});
    for (const InPlaceCall& call : calls)
      for (const Placement& a : all_kinds(2))
        for (const Placement& b : all_kinds(2)) {
          Tensor self = distributed(first, mesh, {a}), whole = first.clone();
          Tensor other = distributed(second, mesh, {b});
          bool made = is_made(call, self, other);
          EXPECT_EQ(Placements{a}, DTensor::of(self).placements()) << call.name;
          call.change(whole, second);
          if (made)
            rank.expect_same_bits(settled(DTensor::of(self).full_tensor()), settled(whole));
          else
            rank.expect_same_bits(DTensor::of(self).full_tensor(), first);
          bool is_copy = std::string_view(call.name) == "copy", is_short = a == Shard(1);
          if (is_settled({a, b}) && (a == b || is_copy)) {
            EXPECT_EQ(made, a == b || !is_short)
                << call.name << " " << to_string(a) << " " << to_string(b);
          }
        }
  });
}

// PyTorch's mistake: a value that every rank writes into a partial sum counts once a rank.
TEST(InPlaceStrategies, OnlyZeroFillsAPartialSum) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2});
    Tensor x = distributed(ones({3}, DType::float32), mesh, {Partial(ReduceOp::sum)});
    EXPECT_THROW(fill_(x, 2), Error);
    EXPECT_NO_THROW(fill_(x, 0));
    Tensor product = DTensor(x).with_local(DTensor(x).local());
    EXPECT_NO_THROW(zero_(product));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// In exact arithmetic a copied sum loses its unrounded parts.
TEST(InPlaceStrategies, ACopiedSumStaysUnrounded) {
  World world({.ranks = 3, .arithmetic = Arithmetic::exact()});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({3});
    Placements partial{Partial(ReduceOp::sum)};
    Tensor whole = formula({4, 3}, {.rule = Rule::wide, .seed = 8});
    DTensor parts = distribute_tensor(whole, mesh, {Replicate()}).redistribute_local(partial, {});
    Tensor target = parts.with_local(zeros({4, 3}, DType::float32));
    zero_(target);
    copy_from_(target, parts);
    rank.expect_same_bits(DTensor::of(target).full_tensor(), whole);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// The result takes the layout of the tensor that it is written into, whatever would be cheaper.
TEST(InPlaceStrategies, OutputsFollowTheTensorThatIsGiven) {
  Tensor first = formula({5, 4}, {.rule = Rule::small, .seed = 1});
  Tensor second = formula({5, 4}, {.rule = Rule::small, .seed = 2});
  run_every_schedule(2, [&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    for (const Placement& a : shards_and(2, {Partial(ReduceOp::sum)}))
      for (const Placement& to : shards_and(2)) {
        Tensor out = distributed(zeros({5, 4}, DType::float32), mesh, {to});
        add_out(out, distributed(first, mesh, {a}), distributed(second, mesh, {Shard(0)}));
        EXPECT_EQ(Placements{to}, DTensor::of(out).placements());
        rank.expect_same_bits(DTensor::of(out).full_tensor(), add(first, second));
      }
  });
}

}  // namespace
}  // namespace simmesh
