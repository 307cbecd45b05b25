#include "gate/records/run_timeline.h"

#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/engine/reports/run_observer.h"
#include "core/engine/world.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the timeline of a run as JSON.
std::string timeline_of(const WorldOptions& options, const std::function<void(Rank&)>& body) {
  std::string text;
  RunObserver observer([&](const RunRecords& run) {
    TimelineSection timeline(about_timeline(run));
    add_spans(run, timeline);
    text = timeline.json().text();
  });
  World(options).run(body);
  return text;
}

void sum_twice(Rank&) {
  for (int i = 0; i < 2; ++i)
    all_reduce(zeros({4}, DType::float32), ReduceOp::sum, ProcessGroup::world());
}

// A rank that came early waits longer: the picture of a run is made of these lengths.
TEST(RunTimeline, ACollectiveLastsUntilTheLastMemberArrives) {
  std::string text = timeline_of({.ranks = 2}, sum_twice);
  EXPECT_THAT(text, HasSubstr(R"("unit":"event")"));
  EXPECT_THAT(text, HasSubstr(R"(["all_reduce","run_timeline_test.cpp:)"));
  EXPECT_THAT(text, Not(HasSubstr("incomplete")));
  EXPECT_THAT(text, HasSubstr(R"("spans":[[0,2,0,)"));
}

TEST(RunTimeline, ACollectiveThatLacksAMemberIsNamedSo) {
  auto body = [](Rank& rank) {
    sum_twice(rank);
    if (rank.id() == 0) barrier(ProcessGroup::world());
  };
  EXPECT_THAT(timeline_of({.ranks = 2}, body), HasSubstr("barrier, incomplete"));
}

TEST(RunTimeline, DevicesHaveATrackForEachStream) {
  std::string text = timeline_of({.ranks = 2, .device = DeviceModel()}, sum_twice);
  EXPECT_THAT(text, HasSubstr(R"("unit":"us")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"compute")"));
  EXPECT_THAT(text, HasSubstr("all_reduce"));
}

}  // namespace
}  // namespace simmesh
