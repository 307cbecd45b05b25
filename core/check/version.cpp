#include "core/check/version.h"

namespace simmesh {

// The project's own, which the build hands over.
std::string_view version() { return SIMMESH_VERSION; }

}  // namespace simmesh
