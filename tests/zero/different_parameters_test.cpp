#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/nn/linear.h"
#include "core/ops/reductions/reductions.h"
#include "zero/engine/engine.h"

// Ranks that use other modules of one size, as experts are, put other parameters into one
// collective. DeepSpeed mixes them up without a word.
namespace simmesh::zero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

nn::ModulePtr linear(std::int64_t outputs) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{4, outputs});
}

// Sends its input to the expert with the rank's number.
struct OwnExpert final : nn::Module {
  explicit OwnExpert(std::size_t rank) : mine(fmt::format("expert{}", rank)) {
    register_child("first", linear(4));
    for (int i = 0; i < 2; ++i) register_child(fmt::format("expert{}", i), linear(4));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child(mine)(child("first")(in[0]))};
  }
  std::string mine;
};

std::string message_of(std::int64_t stage, const char* more, const char* schedule) {
  World world({.ranks = 2, .schedule = Schedule::parse(schedule)});
  Outcome outcome = world.run([&](Rank& rank) {
    OwnExpert model(rank.id());
    Engine engine =
        initialize(model,
                   Config::from_json(fmt::format(
                       R"({{"train_micro_batch_size_per_gpu": 1, "optimizer": {{"type": "AdamW",
                 "params": {{"lr": 1e-3}}}}, "zero_optimization": {{"stage": {}{}}}}})",
                       stage, more)),
                   ProcessGroup::world());
    engine.backward(sum(engine(full({2, 4}, DType::float32, 1))));
    engine.step();
  });
  return outcome.ok() ? "ok" : outcome.failure->message;
}

// If this fails, a run in which parameters were mixed up is ok, in its only iteration.
TEST(DifferentParameters, AreAMismatchInTheSameIteration) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:2"})
    for (auto [stage, more] :
         {std::pair(1, ""), std::pair(2, ""), std::pair(2, R"(, "reduce_scatter": false)"),
          std::pair(2, R"(, "reduce_bucket_size": 20)"),
          std::pair(3, R"(, "stage3_param_persistence_threshold": 0)"), std::pair(3, "")})
      EXPECT_THAT(message_of(stage, more, schedule),
                  AllOf(HasSubstr("[collectives/mismatch]"),
                        HasSubstr("the contents differ: rank 0 brings expert0."),
                        HasSubstr("rank 1 brings expert1.")))
          << "stage " << stage << more << ", " << schedule;
}

}  // namespace
}  // namespace simmesh::zero
