#include "tests/tidy/public_headers.h"

#include <algorithm>

namespace simmesh::tidy {
namespace {

constexpr std::string_view list_path = "cmake/public_headers.cmake";

Paths listed_in_tree(std::string_view list) {
  const SourceFile* file = find_file(list_path);
  if (file == nullptr) return {};
  std::vector<std::string> headers = listed_headers(*file, list);
  return {headers.begin(), headers.end()};
}

Paths included_by(const SourceFile& file) {
  Paths included;
  for (const std::string& line : file.lines())
    if (std::string_view path = quoted_include(line); !path.empty()) included.emplace(path);
  return included;
}

}  // namespace

std::vector<std::string> listed_headers(const SourceFile& file, std::string_view list) {
  std::vector<std::string> headers;
  bool is_inside = false;
  for (std::string_view line : file.lines()) {
    line = trimmed(line);
    if (is_inside && !line.empty() && line.front() != '#') {
      is_inside = line.back() != ')';
      if (!is_inside) line.remove_suffix(1);
      headers.emplace_back(line);
    }
    is_inside = is_inside || line == "set(" + std::string(list);
  }
  return headers;
}

const Paths& public_headers() {
  static const Paths headers = [] {
    Paths found = listed_in_tree("simmesh_public_headers");
    if (const SourceFile* all = find_file("simmesh.h")) found.merge(included_by(*all));
    found.insert("simmesh.h");
    return found;
  }();
  return headers;
}

const Paths& bound_headers() {
  static const Paths headers = listed_in_tree("simmesh_bound_headers");
  return headers;
}

Paths with_included(const Paths& headers) {
  Paths found = headers;
  std::vector<std::string> waiting(headers.begin(), headers.end());
  while (!waiting.empty()) {
    const SourceFile* file = find_file(waiting.back());
    waiting.pop_back();
    if (file == nullptr) continue;
    for (const std::string& path : included_by(*file))
      if (found.insert(path).second) waiting.push_back(path);
  }
  return found;
}

}  // namespace simmesh::tidy
