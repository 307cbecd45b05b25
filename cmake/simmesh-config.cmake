# find_package(simmesh) reads this file. The libraries are static, so a program that links them also links their dependencies.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/simmesh-targets.cmake)
