#pragma once

#include "training/fsdp_plan.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// fsdp_fields are the fields of a case of any kind with a model under fully_shard, and `own`.
schema::Fields fsdp_fields(schema::Fields own);

// unusual_model_fields are for a model on the meta device, or with parameters that have another
// dtype, are transposed views or are distributed already.
schema::Fields unusual_model_fields();

// plain_schema is null, a boolean, a number or a text.
Schema plain_schema();

// read_fsdp_plan reads a case's model and how it is sharded.
FsdpPlan read_fsdp_plan(const RecordedCase& recorded);

// read_plain_value reads null, a boolean, a number or a text.
PlainValue read_plain_value(const CaseField& field);

}  // namespace simmesh
