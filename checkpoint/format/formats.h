#pragma once

#include <array>
#include <string>
#include <string_view>

#include "checkpoint/format/format.h"

namespace simmesh::checkpoint {

// The formats, each in a room of its own.
extern const Format simmesh_format;      // checkpoint/native
extern const Format dcp_format;          // checkpoint/dcp
extern const Format deepspeed_format;    // checkpoint/deepspeed
extern const Format safetensors_format;  // checkpoint/hugging_face

// formats are all of them, in the order in which `open` asks: a folder may have files of several,
// and the first that finds a checkpoint of its own counts.
inline constexpr std::array formats = {&simmesh_format, &dcp_format, &deepspeed_format,
                                       &safetensors_format};

// find_format returns the format of a name, null if there is none.
const Format* find_format(std::string_view name);

// written_format returns the format of a name that can be written; raises a ValueError that lists
// the names of these. written_formats returns the list: "simmesh, dcp or safetensors".
const Format& written_format(std::string_view name);
std::string written_formats();

// format_titles returns the titles of all formats, and format_marks the files by which they are
// known, as a list with "or" before the last.
std::string format_titles();
std::string format_marks();

}  // namespace simmesh::checkpoint
