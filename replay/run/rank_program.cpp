#include "replay/run/rank_program.h"

namespace simmesh::replay {

double operator_us(const ProgramStep& step, const DeviceModel& model) {
  bool does_something = step.work.device_bytes > 0 || step.work.operations > 0;
  return does_something ? model.kernel_us(step.work) : 0;
}

}  // namespace simmesh::replay
