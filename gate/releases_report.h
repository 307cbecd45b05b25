#pragma once

#include <gsl/span>
#include <string>

#include "gate/compare_releases.h"

namespace simmesh {

// to_text returns a table for each comparison, and as last line "N differences".
struct ReleasesTextOptions {
  bool quiet = false;  // only the last line
};
std::string to_text(gsl::span<const ReleaseComparison> comparisons,
                    ReleasesTextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(gsl::span<const ReleaseComparison> comparisons);

}  // namespace simmesh
