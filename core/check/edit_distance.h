#pragma once

#include <cstddef>
#include <string_view>

namespace simmesh {

// edit_distance is the smallest number of letters to insert, remove or change that makes one text
// the other. The time is the product of their lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace simmesh
