#include "zero/stage3/schedule_record.h"

#include "zero/stage3/module_index.h"

namespace simmesh::zero {

void ScheduleRecord::see(const Event& event) {
  if (event.kind == EventKind::reset) {
    events_.clear();
    if (names_.modules.empty()) {
      ModuleIndex index(*model_);
      for (const auto& [name, module] : index.modules()) names_.modules.push_back(name);
      for (const ModuleIndex::Param& param : index.params()) names_.params.push_back(param.name);
    }
  }
  if (!names_.modules.empty()) events_.push_back(event);
}

}  // namespace simmesh::zero
