#pragma once

#include <gsl/span>
#include <string>
#include <vector>

#include "zero/fetch/event.h"

namespace simmesh::zero {

// ScheduleNames are the names of modules and parameters in a picture, by their numbers.
struct ScheduleNames {
  std::vector<std::string> modules;
  std::vector<std::string> params;
};

// schedule_svg draws what stage 3 did in an iteration as one self-contained SVG element: a column
// for each time that a module is entered or left, with its name, and a row for each parameter, with
// a bar from its gather to its release: light while the gather is in flight, in one colour where
// the module fetched it and in another where it was prefetched, and dark while it is whole. Below
// are the elements that were counted as available after each column. Events are those that an
// observer saw; what was whole before the first one is taken as not there.
std::string schedule_svg(gsl::span<const Event> events, const ScheduleNames& names);

}  // namespace simmesh::zero
