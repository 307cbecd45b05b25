#pragma once

#include <string>

namespace simmesh {

// release_page returns the page docs/releases.md: the differences between releases, by area, in
// Markdown.
std::string release_page();

}  // namespace simmesh
