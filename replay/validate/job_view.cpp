#include "replay/validate/job_view.h"

#include <fmt/format.h>

namespace simmesh::replay {

std::string to_string(const JobView& view, const CommPlace& place) {
  return fmt::format("rank {} node {}", view.rank(place), view.node(place).id);
}

}  // namespace simmesh::replay
