#pragma once

#include <functional>
#include <string_view>

#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// raises_schema is an error: its class in Python, words of the message, and further fields. An
// error of the classes KeyError, IndexError and ZeroDivisionError, and a TypeError without words,
// is an accident of the recorded system: only the refusal counts.
Schema raises_schema(schema::Fields further = {});

// expect_raises calls `call`, which must raise an Error as `raises` says. `who` says which call it
// was.
void expect_raises(CaseReport& report, std::string_view who, const CaseField& raises,
                   const std::function<void()>& call);

}  // namespace simmesh
