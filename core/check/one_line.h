#pragma once

#include <string>
#include <string_view>

namespace simmesh {

// one_line returns a text from outside as a line of a report, so that a terminal shows it as it is:
// a line end is \n, and other control characters and bytes that aren't UTF-8 are \x1b and so on.
// Characters that change the direction of text are escaped too.
std::string one_line(std::string_view text);

// printable_report returns a report as a terminal may show it: line ends stay, and the other
// characters that one_line escapes are \u001b and so on, of which JSON says that they mean the
// same. Bytes that aren't UTF-8 are \xff.
std::string printable_report(std::string_view report);

// markup returns a text as HTML and SVG show it: with &lt; for <, and so on. Control bytes are left
// out.
std::string markup(std::string_view text);

}  // namespace simmesh
