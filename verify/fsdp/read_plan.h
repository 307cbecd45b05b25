#pragma once

#include "training/fsdp_plan.h"
#include "verify/recorded_case.h"

namespace simmesh {

// read_fsdp_plan reads a case's model and how it is sharded. Throws a BadCase for fields of another
// type.
FsdpPlan read_fsdp_plan(const RecordedCase& recorded);

// read_plain_value reads null, a boolean, a number or a text.
PlainValue read_plain_value(const CaseField& field);

}  // namespace simmesh
