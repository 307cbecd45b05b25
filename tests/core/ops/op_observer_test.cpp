#include "core/ops/op_observer.h"

#include <gtest/gtest.h>
#include <string>

#include "core/ops/elementwise/pointwise.h"

namespace simmesh {
namespace {

TEST(OpObserver, SeesKernelsBeforeAndAfterAndOnlyInItsScope) {
  std::string seen, inner;
  Tensor x = full({2}, DType::float32, 2);
  auto note = [](std::string& to) {
    return [&to](const Op& op, OpObserver::Moment moment) {
      to += (moment == OpObserver::Moment::before ? "<" : ">") + op.name;
    };
  };
  {
    OpObserver outer(note(seen));
    mul(x, x);
    {
      OpObserver nested(note(inner));
      neg(x);
    }
    add(x, x);
  }
  neg(x);
  EXPECT_EQ(seen, "<mul>mul<add>add");
  EXPECT_EQ(inner, "<neg>neg");
}

}  // namespace
}  // namespace simmesh
