#include "replay/report/pixels.h"

#include <fmt/format.h>

namespace simmesh::replay {

std::string pixels(double length) { return fmt::format("{:.2f}", length); }

}  // namespace simmesh::replay
