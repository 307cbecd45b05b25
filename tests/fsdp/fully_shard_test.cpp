#include "fsdp/fully_shard.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/event_fields.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

// The schedule changes nothing: neither bits nor events.
TEST(FullyShard, GivesTheSameEventsAndGradientsUnderAllSchedules) {
  TrainingModel plan = small_model(2, 5);
  std::vector<EventFields> first;
  every_schedule(4, [&](Rank& rank) {
    nn::ModulePtr model = build_model(plan);
    shard_layers(*model, {.reshard_after_forward = true});
    std::vector<EventFields> events;
    ObserverScope observer([&](const Event& event) { events.push_back(fields_of(event, *model)); });
    Tensor x = formula({3, 5}, {.rule = Rule::unit, .seed = rank.id()});
    backward(sum((*model)(x)));
    for (const Tensor& parameter : model->parameters())
      rank.record(grad_of(parameter).local_part());
    if (rank.id() != 0) return;
    if (first.empty()) first = events;
    expect(events == first, "the events of the first schedule");
  });
}

}  // namespace
}  // namespace simmesh::fsdp
