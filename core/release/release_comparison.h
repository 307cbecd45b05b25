#pragma once

#include <array>
#include <gsl/span>
#include <string>
#include <vector>

#include "core/release/release.h"

namespace simmesh {

// ReleaseDifference is something in which runs under two releases differ.
struct ReleaseDifference {
  std::string what;                                 // "reductions", "loss of step 1"
  std::array<std::string, releases.size()> values;  // under each release
};

// ReleaseComparison is what differs between the runs of a file under each release. It depends on
// the file and the options only.
struct ReleaseComparison {
  // Subject is what the file holds: a gate, or recorded cases.
  enum class Subject { gate, cases };

  Subject subject = Subject::gate;
  std::string file;
  std::string title;
  std::vector<ReleaseDifference> differences;
  std::vector<std::string> same;  // what was compared and doesn't differ
};

// to_text returns a table or list for each comparison, and as last line "N differences".
struct ReleasesTextOptions {
  bool quiet = false;  // only the last line
};
std::string to_text(gsl::span<const ReleaseComparison> comparisons,
                    ReleasesTextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(gsl::span<const ReleaseComparison> comparisons);

}  // namespace simmesh
