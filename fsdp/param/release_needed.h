#pragma once

#include <string_view>

#include "core/check/error.h"
#include "core/release/release_change.h"

namespace simmesh::fsdp {

// Feature is a feature that a program asks for, and the error where it doesn't exist.
struct Feature {
  ErrorKind error;
  std::string_view name;
};

// require_release raises the feature's error, which names the release that has it, unless the
// followed release has the change.
void require_release(const Feature& feature, ReleaseChange change);

}  // namespace simmesh::fsdp
