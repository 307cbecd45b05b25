#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/engine/options/run_words.h"

namespace simmesh::python {

// words_of returns how worlds run, in the words that Python's functions share with the command.
// Raises a ValueError for an unknown schedule, arithmetic or release.
struct RunArguments {
  std::uint64_t seed;
  std::string schedule;
  std::int64_t threads;
  std::optional<std::string> arithmetic, release;
  double timeout;
  std::string trace;
};
RunWords words_of(const RunArguments& arguments);

}  // namespace simmesh::python
