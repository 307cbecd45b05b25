#pragma once

#include "verify/case_report.h"
#include "verify/schema.h"

namespace simmesh {

// check_schema compares a value with a schema, at every depth. A value that can't be valid at all
// raises a BadCase that names file, line and field, the expected and the found value: for a missing
// field, another type, a number or a count out of bounds. A field or a word that isn't known is
// well-formed but means nothing here: it becomes a mismatch. Returns whether there was no mismatch.
bool check_schema(const CaseField& value, const Schema& schema, CaseReport& report);

// schema_for returns the schema that counts for a value: the one for which a named one stands, and
// among several the first that has the value's type. Raises a BadCase where none has it.
const SchemaNode& schema_for(const CaseField& value, const SchemaNode& schema);

}  // namespace simmesh
