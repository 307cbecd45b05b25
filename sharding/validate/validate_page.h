#pragma once

#include <string>

#include "core/page/report_page.h"
#include "sharding/validate/validate.h"

namespace simmesh {

// validate_page returns the result of `simmesh validate` as the content of a page: a table of the
// ops, and what is printed of those with a rule that is wrong or missing. command is the line that
// makes it again.
PageReport validate_page(const ValidateResult& result, const ValidateRequest& request,
                         const std::string& command);

}  // namespace simmesh
