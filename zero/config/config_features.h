#pragma once

#include <string>

#include "core/check/json_value.h"

namespace simmesh::zero {

// refuse_missing_features raises a ValueError that names the section for each of DeepSpeed's that
// changes a run and that simmesh doesn't have, unless it is null or not enabled. Keys that only say
// what is printed or measured are left alone, as DeepSpeed leaves keys alone that it doesn't know.
void refuse_missing_features(const JsonValue& config);

// refuse_misspelt_keys raises a ValueError for a top-level key that is nearly one of ours, because
// it would train something else without a word. Short keys are too alike to tell.
void refuse_misspelt_keys(const JsonValue& config);

// take_default_only removes a key whose only value here is the default. Raises a ValueError for
// another one, which names the key below the path.
void take_default_only(JsonValue& section, const std::string& path, const char* name,
                       const JsonValue& value);

}  // namespace simmesh::zero
