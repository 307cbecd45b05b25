#pragma once

#include <gsl/span>
#include <string_view>
#include <vector>

#include "verify/verify.h"

namespace simmesh {

// KnownKind is a kind of case that can be run, with all fields that its cases may have besides
// kind, id, source and why.
struct KnownKind {
  std::string_view kind;
  Verifier verifier;
  std::vector<std::string_view> fields;
};

// known_kinds lists all kinds in alphabetical order. A new verifier is one line there.
gsl::span<const KnownKind> known_kinds();

// find_kind returns the kind of that name; null where it isn't known.
const KnownKind* find_kind(std::string_view kind);

}  // namespace simmesh
