#pragma once

#include <cstdint>
#include <optional>

#include "zero/config/config.h"
#include "zero/config/config_section.h"

namespace simmesh::zero {

// check_untyped_sections judges the sections that DeepSpeed reads key by key, without a class, as
// its code does: AttributeErrors for what isn't an object, and for the few values that it checks
// its own classes of errors. Unknown keys are left alone there.
void check_untyped_sections(const JsonValue& config);

// is_truthy is true for what counts as true in Python: neither null, false, 0 nor empty.
bool is_truthy(const JsonValue& value);

// These read keys that DeepSpeed takes from a file without a conversion, so "1" is no number. Each
// raises a TypeError that names the key. A count may be a number without a fraction, and a flag 0
// or 1.
void read_plain(const ConfigValue& value, std::optional<std::int64_t>& out);
void read_plain(const ConfigValue& value, double& out);
void read_plain(const ConfigValue& value, bool& out);
// A dtype of communication is fp32, fp16 or bf16. Raises an AttributeError for what isn't a text,
// and a ValueError for another text.
void read_plain(const ConfigValue& value, std::optional<DType>& out);

}  // namespace simmesh::zero
