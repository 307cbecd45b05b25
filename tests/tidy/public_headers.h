#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace simmesh::tidy {

// Paths is a set of paths, relative to the root of the repository.
using Paths = std::set<std::string, std::less<>>;

// listed_headers returns the entries of a list, in order, that is set in a file of CMake:
// "simmesh_public_headers" or "simmesh_bound_headers" of cmake/public_headers.cmake.
std::vector<std::string> listed_headers(const SourceFile& file, std::string_view list);

// public_headers returns what programs may include by name: simmesh.h, what it includes, and the
// headers that cmake/public_headers.cmake lists.
const Paths& public_headers();

// bound_headers returns what python/bindings may include beside the public headers.
const Paths& bound_headers();

// with_included returns headers and all that they include, directly or not.
Paths with_included(const Paths& headers);

}  // namespace simmesh::tidy
