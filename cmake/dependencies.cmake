# All dependencies are packages of the distribution; `./dev` installs them.
find_package(Boost 1.74 REQUIRED COMPONENTS fiber context thread)
find_package(fmt REQUIRED)
find_package(Microsoft.GSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# On x86, xxHash may be built so that it chooses a vector unit at run time.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::xxhash)
check_cxx_source_compiles("#include <xxh_x86dispatch.h>
int main() { return int(XXH3_64bits_dispatch(\"\", 0)); }" SIMMESH_XXHASH_DISPATCHES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(SIMMESH_TESTS)
  find_package(GTest REQUIRED)
  find_library(SIMMESH_RAPIDCHECK rapidcheck REQUIRED)
endif()
if(SIMMESH_BENCH)
  find_package(benchmark REQUIRED)
  # Our products are measured against Eigen's; nothing else uses it.
  find_package(Eigen3 3.4 REQUIRED)
endif()
