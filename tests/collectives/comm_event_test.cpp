#include "collectives/comm_event.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/ranks/observer_scope.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// Events in words: "collective all_reduce 0 1>1" is the first one of its group, with one input and
// one result.
std::string words_of(const CommEvent& event) {
  std::string text(event.kind == CommEvent::Kind::collective ? name_of(event.call->op) : "");
  if (event.kind == CommEvent::Kind::send) text = fmt::format("send to {}", event.peer);
  if (event.kind == CommEvent::Kind::receive) text = fmt::format("receive from {}", event.peer);
  if (event.kind == CommEvent::Kind::wait) text = fmt::format("wait for {}", event.peer);
  return fmt::format("{}{} #{} {}>{}", event.work ? "async " : "", text, event.sequence,
                     event.inputs.size(), event.results.size());
}

std::vector<std::string> events_of_rank_0(const std::function<void(Rank&)>& body) {
  std::vector<std::string> seen;
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank& rank) {
    ObserverScope<CommEvent> scope([&](const CommEvent& event) {
      if (rank.id() == 0) seen.push_back(words_of(event));
    });
    body(rank);
    EXPECT_TRUE(rank.id() == 1 || seen.empty());
    Watch watch;
    body(rank);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return seen;
}

TEST(CommEvent, IsToldOfCollectivesAndWaits) {
  auto seen = events_of_rank_0([](Rank&) {
    ProcessGroup world = ProcessGroup::world();
    Tensor x = full({4}, DType::float32, 1);
    all_reduce(x, ReduceOp::sum, world);
    Work work = all_gather_async(x, {}, world);
    barrier(world);
    work.wait();
    work.wait();
    all_reduce_(x, ReduceOp::sum, world);
    all_gather_list(x, world);
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"all_reduce #5 1>1", "async all_gather #6 1>0",
                                            "barrier #7 0>0", "async wait for -1 #0 0>1",
                                            "all_reduce #8 1>1", "all_gather_list #9 1>2"}));
}

TEST(CommEvent, IsToldOfMessages) {
  auto seen = events_of_rank_0([](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor x = full({4}, DType::float32, 1);
    std::int64_t peer = 1 - std::int64_t(rank.id());
    Work got = irecv(x.shape(), x.dtype(), {}, world);
    Work sent = isend(x, {peer}, world);
    got.wait();
    sent.wait();
    if (peer == 1)
      send(x, {peer}, world);
    else
      recv(x.shape(), x.dtype(), {.peer = peer}, world);
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"async receive from -1 #0 0>0",
                                            "async send to 1 #0 1>0", "async wait for 1 #0 0>1",
                                            "async wait for -1 #0 0>0", "send to 1 #0 1>0"}));
}

}  // namespace
}  // namespace simmesh
