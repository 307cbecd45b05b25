#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/release/release_change.h"

namespace simmesh {

// UsersOfChange returns the source files that ask for a change.
using UsersOfChange = std::function<std::vector<std::string>(const ReleaseChangeRow& row)>;

// release_page returns what differs between releases, by area, in Markdown. With `users` each row
// also names the files that ask: so docs/releases.md has it, whose test knows the sources.
std::string release_page(const UsersOfChange& users = nullptr);

}  // namespace simmesh
