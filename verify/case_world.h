#pragma once

#include <functional>

#include "core/engine/world.h"
#include "verify/case_report.h"
#include "verify/verify_options.h"

namespace simmesh {

// world_options returns the options of a World that runs a case as the command line says.
WorldOptions world_options(const VerifyOptions& options, std::int64_t ranks);

// run_case runs a body on every rank and folds the hashes into the report. Returns the Error that
// the first failing rank raised; a run that no rank's exception ended, such as a deadlock, is a
// mismatch, as is an exception that is no Error. Raises a BadCase of a rank, and a contract that
// simmesh broke.
std::optional<Error> run_case(World& world, const std::function<void(Rank&)>& body,
                              CaseReport& report);

}  // namespace simmesh
