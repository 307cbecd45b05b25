# find_package(simmesh) reads this file. The libraries are static, so their users link what they use.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/simmesh-targets.cmake)
