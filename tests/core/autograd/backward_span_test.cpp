#include "core/autograd/backward_span.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/observer_scope.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"

namespace simmesh {
namespace {

TEST(BackwardSpan, IsToldOfPassesAndTheirNodes) {
  std::vector<std::string> nodes;
  int passes = 0, open = 0;
  World world({.ranks = 1});
  Outcome outcome = world.run([&](Rank&) {
    ObserverScope<BackwardSpanEvent> scope([&](const BackwardSpanEvent& event) {
      open += event.has_ended ? -1 : 1;
      passes += !event.node && !event.has_ended;
      if (event.node && !event.has_ended) nodes.push_back(event.node->name());
      EXPECT_GE(open, event.node && !event.has_ended ? 2 : 0);
    });
    Tensor x = full({2}, DType::float32, 2);
    set_requires_grad(x);
    auto run = [&] {
      Tensor loss = sum(mul(x, x));
      backward({&loss, 1});
    };
    run();
    EXPECT_EQ(passes, 0);
    Watch watch;
    run();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(passes, 1);
  EXPECT_EQ(open, 0);
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_NE(nodes[0].find("um"), std::string::npos) << nodes[0];
  EXPECT_NE(nodes[1].find("ul"), std::string::npos) << nodes[1];
}

}  // namespace
}  // namespace simmesh
