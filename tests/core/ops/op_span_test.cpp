#include "core/ops/op_span.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/engine/ranks/observer_scope.h"
#include "core/engine/world.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {
namespace {

// Returns the ops that a body calls on a watched rank: "<add:2>add:1" for two inputs and a result.
std::string spans_of(const std::function<void()>& body) {
  std::string seen;
  World world({.ranks = 1});
  Outcome outcome = world.run([&](Rank&) {
    ObserverScope<OpSpanEvent> scope([&](const OpSpanEvent& event) {
      seen += fmt::format("{}{}:{}", event.has_ended ? ">" : "<", event.call.op.name,
                          event.has_ended ? event.results.size() : event.call.inputs.size());
    });
    body();
    EXPECT_EQ(seen, "");
    Watch watch;
    body();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return seen;
}

// Each way to call an op is told, and none twice.
TEST(OpSpan, IsToldOfEveryWayToCallAnOp) {
  Tensor x = full({2}, DType::float32, 2);
  EXPECT_EQ(spans_of([&] { mul(x, x); }), "<mul:2>mul:1");
  EXPECT_EQ(spans_of([&] {
              Tensor own = x.clone();
              add_(own, x);
            }),
            "<add:2>add:1");
  EXPECT_EQ(spans_of([&] {
              Tensor out = empty({2}, DType::float32);
              add_out(out, x, x);
            }),
            "<add:2>add:1");
}

TEST(OpSpan, EndsWithoutResultsWhereTheOpRaises) {
  EXPECT_EQ(spans_of([&] {
              EXPECT_ANY_THROW(mul(full({2}, DType::float32, 2), full({3}, DType::float32, 2)));
            }),
            "<mul:2>mul:0");
}

}  // namespace
}  // namespace simmesh
