#pragma once

#include <filesystem>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <variant>
#include <vector>

namespace simmesh::python {

// PathList is how Python names files: one or several, each a text or a path object. NameList is one
// name or several.
using PathList = std::variant<std::filesystem::path, std::vector<std::filesystem::path>>;
using NameList = std::variant<std::string, std::vector<std::string>>;

inline std::vector<std::string> texts_of(const PathList& paths) {
  if (const auto* one = std::get_if<std::filesystem::path>(&paths)) return {one->string()};
  std::vector<std::string> texts;
  for (const auto& path : std::get<1>(paths)) texts.push_back(path.string());
  return texts;
}

inline std::vector<std::string> names_of(const NameList& names) {
  if (const auto* one = std::get_if<std::string>(&names)) return {*one};
  return std::get<1>(names);
}

}  // namespace simmesh::python
