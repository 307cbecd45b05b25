#pragma once

#include <cstdint>
#include <gsl/span>
#include <string>
#include <string_view>

namespace simmesh::replay {

// json_text returns a text as JSON, in quotes. Bytes that aren't UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

// json_number returns a number as PyTorch's observer writes it: "0.5", and in quotes "inf", "-inf"
// and "nan".
std::string json_number(double number);

// json_list returns "[1, 2]", the form of splits in attributes.
std::string json_list(gsl::span<const std::int64_t> numbers);

}  // namespace simmesh::replay
