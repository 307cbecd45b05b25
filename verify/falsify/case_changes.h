#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "verify/recorded_case.h"
#include "verify/schema_walk.h"

namespace simmesh {

// CaseChange is one place of a case that is changed. `excuse` says why the case may pass all the
// same, by the schema's marks: empty where it must not. A part of the input may change, since that
// makes another case, which may have the same results; a result, a type, and a field that nobody
// knows may not.
struct CaseChange {
  nlohmann::json::json_pointer at;
  std::string name;        // "another value", "left out", "an entry less"
  nlohmann::json patched;  // the new value at `at`; unused where the field is left out
  bool is_removal = false;
  std::string_view excuse = {};

  // apply returns the changed case.
  nlohmann::json apply(nlohmann::json value) const;
};

// case_changes returns all changes of a case that fits the schema of its kind, in the order of its
// fields: at each place a field that nobody knows, a field less, an entry less, an entry twice, two
// entries swapped, another value of the type, and a value of another type.
std::vector<CaseChange> case_changes(const RecordedCase& recorded, const SchemaNode& schema);

// ChangeSample says how many changes are drawn at most: in all, and of each name at each path
// pattern. The entries of a list have one pattern, as have the fields of its entries.
struct ChangeSample {
  std::size_t count = std::numeric_limits<std::size_t>::max();
  std::size_t per_field = std::numeric_limits<std::size_t>::max();
};

// sample_changes returns changes drawn by the seed, in their order. Every name of a change at every
// path pattern comes before a second one of the same (see path_pattern).
std::vector<CaseChange> sample_changes(std::vector<CaseChange> changes, const ChangeSample& sample,
                                       std::uint64_t seed);

// path_pattern returns a place with [] for each index: "/outputs/[]/hash".
std::string path_pattern(const nlohmann::json::json_pointer& at);

}  // namespace simmesh
