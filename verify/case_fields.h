#pragma once

#include <string>

namespace simmesh {

// case_fields_page returns the page of all fields of all kinds, in Markdown, as the schemas of the
// kinds have them. docs/case_fields.md holds it.
std::string case_fields_page();

}  // namespace simmesh
