#pragma once

#include <cstdint>
#include <functional>
#include <gsl/span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/recorded_case.h"

namespace simmesh {

// file_bytes_max bounds a file of cases.
inline constexpr std::uintmax_t file_bytes_max = 64u << 20;

// CaseFiles is the cases of some paths, in the order of the paths; below a folder in the order of
// the sorted file names; in a file by line.
struct CaseFiles {
  std::vector<RecordedCase> cases;
  std::int64_t disputed_left_out = 0;
};

// cases_from_text returns the cases of the text of one file: one per line for a name ending in
// .jsonl, else one in all. Blank lines don't count. Raises a BadCase for text that holds no case or
// a broken one.
std::vector<RecordedCase> cases_from_text(std::string_view text, const std::string& file);

// load_cases reads all files. A folder stands for every .jsonl file below it except disputed.jsonl,
// and for every .json file below it whose top-level object has kind and id; its other files are
// data. Cases for which `wanted` is false are dropped. A file that several paths name is read once.
// Raises a BadCase that names file and line for broken input, and a ValueError for a path that is
// neither file nor folder and for paths without any case.
CaseFiles load_cases(gsl::span<const std::string> paths,
                     const std::function<bool(const RecordedCase&)>& wanted);

}  // namespace simmesh
