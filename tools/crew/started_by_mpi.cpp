#include <cstdlib>

#include "tools/crew/mpi_crew.h"

namespace simmesh {

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace simmesh
