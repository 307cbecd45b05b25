#include "tools/crew/mpi_program.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace simmesh {

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

void become_mpi_program(char** argv) {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  program.replace_filename("simmesh-mpi");
  execv(program.c_str(), argv);
}

}  // namespace simmesh
