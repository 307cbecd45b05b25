#pragma once

#include "replay/chakra/chakra_summary.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// chakra_summary_fields are the figures of a trace in Chakra's form. Types of nodes have the
// schema's names or numbers; names of attributes are a list, or have a count each; metadata is the
// number of such messages, the version, or the attributes.
schema::Fields chakra_summary_fields();

// is_chakra is true if an object has these figures.
bool is_chakra(const CaseField& entry);

// compare_chakra compares those figures that an object has.
void compare_chakra(const CaseField& entry, const replay::ChakraSummary& summary,
                    CaseReport& report);

}  // namespace simmesh
