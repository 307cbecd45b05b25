#include "core/engine/ranks/annotation.h"

#include <gtest/gtest.h>

#include "core/engine/ranks/observer_scope.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

TEST(Annotation, IsToldWhereTheRankIsWatched) {
  std::string seen;
  World world({.ranks = 1});
  world.run([&](Rank&) {
    ObserverScope<AnnotationEvent> scope([&](const AnnotationEvent& event) {
      seen += (event.has_ended ? ">" : "<") + std::string(event.name);
    });
    Annotation unseen("before");
    Watch watch;
    Annotation outer("load");
    Annotation step = Annotation::step(3);
  });
  EXPECT_EQ(seen, "<load<ProfilerStep#3>ProfilerStep#3>load");
  Annotation outside("no rank");
}

}  // namespace
}  // namespace simmesh
