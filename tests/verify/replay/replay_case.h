#pragma once

#include <string>

#include "tests/verify/changed_case.h"

namespace simmesh::testing {

// replay_case returns the first recorded case about traces for which `wanted` holds. Its files are
// named as they are beside those of tests/cases/checkpoint.
template <class F>
nlohmann::json replay_case(F wanted) {
  nlohmann::json value = first_with("../replay/expected.jsonl", wanted);
  if (value.contains("file")) value["file"] = "../replay/" + value["file"].get<std::string>();
  if (value.contains("files"))
    for (nlohmann::json& file : value["files"]) file = "../replay/" + file.get<std::string>();
  return value;
}

// replay_case returns the case of a kind by its id.
inline nlohmann::json replay_case(const std::string& kind, const std::string& id) {
  return replay_case(
      [&](const nlohmann::json& each) { return each["kind"] == kind && each["id"] == id; });
}

}  // namespace simmesh::testing
