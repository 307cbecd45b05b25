#pragma once

#include <string>

#include "core/check/json_value.h"

namespace simmesh::zero {

// refuse_missing_features raises a ValueError for each section of DeepSpeed's that changes a run
// and that simmesh doesn't have, unless it is null or not enabled; the error names the section.
// Keys that only affect what is printed or measured are left alone, as DeepSpeed leaves unknown
// keys alone.
void refuse_missing_features(const JsonValue& config);

// refuse_misspelt_keys raises a ValueError for a top-level key that nearly is one of ours, because
// it would silently train something else. Short keys are too alike to tell.
void refuse_misspelt_keys(const JsonValue& config);

// take_default_only removes a key that only supports its default here. Raises a ValueError for
// another value, which names the key below the path.
void take_default_only(JsonValue& section, const std::string& path, const char* name,
                       const JsonValue& value);

}  // namespace simmesh::zero
