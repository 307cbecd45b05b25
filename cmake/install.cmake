# What `cmake --install` installs: the headers, the libraries, the program, and the files with which find_package(simmesh)
# defines simmesh::simmesh, the target that stands for all libraries.
include(CMakePackageConfigHelpers)
set(simmesh_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simmesh)
foreach(library IN LISTS simmesh_libraries)
  install(TARGETS simmesh_${library} EXPORT simmesh)
endforeach()
install(DIRECTORY ${simmesh_headers}/simmesh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS simmesh_options simmesh EXPORT simmesh)
install(TARGETS simmesh_command RUNTIME)
install(EXPORT simmesh NAMESPACE simmesh:: FILE simmesh-targets.cmake
  DESTINATION ${simmesh_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/simmesh-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/simmesh-config.cmake cmake/dependencies.cmake
    ${PROJECT_BINARY_DIR}/simmesh-config-version.cmake
  DESTINATION ${simmesh_package_folder})
