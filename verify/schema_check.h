#pragma once

#include "verify/case_report.h"
#include "verify/schema.h"

namespace simmesh {

// check_schema compares a value with what a schema says, at every depth. What can't be such a value
// at all is refused: raises a BadCase that names file, line and field, what was expected and what
// was found, for a missing field, another type, a number or a count out of bounds. A field or a
// word that isn't known is well-formed but means nothing here: it becomes a mismatch. Returns
// whether there was no mismatch.
bool check_schema(const CaseField& value, const Schema& schema, CaseReport& report);

// schema_for returns the schema that counts for a value: what a named one stands for, and of
// several the first that has the value's type. Raises a BadCase where none has it.
const SchemaNode& schema_for(const CaseField& value, const SchemaNode& schema);

}  // namespace simmesh
