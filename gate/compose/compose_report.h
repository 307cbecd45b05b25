#pragma once

#include <string>

#include "core/page/report_page.h"
#include "gate/compose/composition.h"
#include "gate/report.h"

namespace simmesh {

// to_text returns a table with a line for each layout, the reasons for which others don't fit, and
// a last line "N passed, N failed" over the layouts that were run.
std::string to_text(const Composition& found, GateTextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(const Composition& found);

// compose_page returns the same content as that of a page; command is the line that makes it again.
PageReport compose_page(const Composition& found, const std::string& command = {});

// to_html returns that page, which needs no other file.
std::string to_html(const Composition& found);

}  // namespace simmesh
