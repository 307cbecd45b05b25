#pragma once

#include <string>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh::zero {

// refuse_removed_keys raises a ValueError for a key of a feature that DeepSpeed 0.19.8 doesn't have
// any more, whatever its value is.
void refuse_removed_keys(const JsonValue& config);

// refuse_missing_features raises a ValueError for a value that DeepSpeed takes and that changes a
// run in a way that simmesh doesn't have: "tensor_parallel.autotp_size: simmesh has no ...".
void refuse_missing_features(const JsonValue& config);

// refuse_misspelt_keys raises a ValueError for a top-level key that nearly is one of ours, because
// it would silently train something else. Short keys are too alike to tell.
void refuse_misspelt_keys(const JsonValue& config);

// idle_keys returns the top-level keys of a configuration that change nothing in a run here:
// printing, measuring, writing of files. unknown_keys returns those that neither DeepSpeed nor
// simmesh reads.
std::vector<std::string> idle_keys(const JsonValue& config);
std::vector<std::string> unknown_keys(const JsonValue& config);

}  // namespace simmesh::zero
