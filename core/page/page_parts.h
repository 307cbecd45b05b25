#pragma once

#include <string_view>

namespace simmesh {

// PageParts are the texts of which report_page makes a page: the frame, whose places for the others
// are @TITLE@, @STYLE@, @DATA@ and @SCRIPT@, and the content of core/page/template.
struct PageParts {
  std::string_view frame;
  std::string_view style;
  std::string_view script;
};
extern const PageParts page_parts;

}  // namespace simmesh
