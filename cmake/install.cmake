# What `cmake --install` lays down: the headers, the libraries, the program, and the files by which find_package(simmesh)
# offers simmesh::gate, which brings all the others.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(simmesh_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simmesh)
set(simmesh_folders core mesh collectives sharding fsdp gate)
foreach(folder IN LISTS simmesh_folders)
  install(TARGETS simmesh_${folder} EXPORT simmesh)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/simmesh
    FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES simmesh.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/simmesh)
install(TARGETS simmesh_options EXPORT simmesh)
install(TARGETS simmesh_command RUNTIME)
install(EXPORT simmesh NAMESPACE simmesh:: FILE simmesh-targets.cmake
  DESTINATION ${simmesh_package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/simmesh-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/simmesh-config.cmake cmake/dependencies.cmake
    ${CMAKE_BINARY_DIR}/simmesh-config-version.cmake
  DESTINATION ${simmesh_package_folder})
