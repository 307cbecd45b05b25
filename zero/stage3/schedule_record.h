#pragma once

#include <string>
#include <vector>

#include "core/nn/module.h"
#include "zero/fetch/event.h"
#include "zero/fetch/schedule_picture.h"

namespace simmesh::zero {

// ScheduleRecord keeps the events of stage 3 on a rank in the last iteration that it began, for a
// picture of it.
//
//   zero::Engine engine = zero::initialize(model, config, dp);
//   zero::ScheduleRecord record(model);
//   zero::ObserverScope observer([&](const zero::Event& event) { record.see(event); });
//   engine.backward(loss(engine(x)));
//   engine.step();
//   std::string svg = record.svg();
class ScheduleRecord {
 public:
  // The model must live until the first iteration has begun.
  explicit ScheduleRecord(nn::Module& model) : model_(&model) {}

  // see takes an event of the rank; call it for each, in their order.
  void see(const Event& event);

  bool is_empty() const { return events_.empty(); }
  // svg returns the picture of schedule_svg. Modules below leaf modules aren't in it.
  std::string svg() const { return schedule_svg(events_, names_); }

 private:
  nn::Module* model_;
  ScheduleNames names_;
  std::vector<Event> events_;
};

}  // namespace simmesh::zero
