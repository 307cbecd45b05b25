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
extern const Format pytorch_format;      // checkpoint/pytorch
extern const Format safetensors_format;  // checkpoint/hugging_face

// formats has all of them, in the order in which `open` asks. A folder may have files of several
// formats; the first one that finds a checkpoint counts.
inline constexpr std::array formats = {&simmesh_format, &dcp_format, &deepspeed_format,
                                       &pytorch_format, &safetensors_format};

// find_format returns the format of a name, null if there is none.
const Format* find_format(std::string_view name);

// written_format returns the format of a name, which must be one that can be written. Otherwise it
// raises a ValueError that lists these. written_formats returns the list: "simmesh, dcp or
// safetensors".
const Format& written_format(std::string_view name);
std::string written_formats();

// format_titles returns a list of the titles of all formats, and format_marks a list of the files
// by which they are known. The last item comes after "or".
std::string format_titles();
std::string format_marks();

}  // namespace simmesh::checkpoint
