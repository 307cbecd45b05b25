#pragma once

#include <string>
#include <string_view>

#include "core/check/json_value.h"

namespace simmesh::zero {

// parse_hjson reads a configuration file as DeepSpeed does, whose files are Hjson: JSON that may
// have comments (#, //, /* */), keys and texts without quotes, texts in single quotes or over
// several lines between three of them, commas at the end or none at all, and no outer braces. A
// text without quotes reaches to the end of its line. Numbers without a fraction below 1e10 are
// integers: 1e3 is 1000. An empty file is an empty object.
//
//   JsonValue config = zero::parse_hjson("{\n  # per step\n  train_batch_size: 16,\n}");
//   config.text();  // {"train_batch_size":16}
//
// Raises a ValueError that names the line for text that isn't Hjson, and for a key that comes
// twice.
JsonValue parse_hjson(std::string_view text);

// read_hjson_file reads a file. Raises a ValueError that names it if it can't be read, as a folder
// can't, and where its text isn't Hjson.
JsonValue read_hjson_file(const std::string& path);

}  // namespace simmesh::zero
