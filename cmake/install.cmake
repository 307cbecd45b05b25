# The parts that `cmake --install` installs: the headers, the libraries, the program, the files with
# which find_package(simmesh) defines a target for each library, and simmesh.pc, with which
# pkg-config names the libraries of simmesh::simmesh.
include(CMakePackageConfigHelpers)
set(simmesh_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simmesh)
get_property(simmesh_libraries GLOBAL PROPERTY simmesh_libraries)
get_property(simmesh_components GLOBAL PROPERTY simmesh_components)
install(TARGETS ${simmesh_libraries} simmesh simmesh_equal_bits EXPORT simmesh)
install(DIRECTORY ${simmesh_headers}/simmesh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(SIMMESH_COMMAND)
  install(TARGETS simmesh_command RUNTIME)
  if(TARGET simmesh_mpi_command)
    install(TARGETS simmesh_mpi_command RUNTIME)
  endif()
endif()
install(EXPORT simmesh NAMESPACE simmesh:: FILE simmesh-targets.cmake
  DESTINATION ${simmesh_package_folder})

# The lists of cmake/dependencies.cmake, as words of a list in the installed file.
foreach(list simmesh_packages simmesh_modules simmesh_component_packages)
  list(JOIN ${list} "\" \"" words)
  set(${list}_quoted "\"${words}\"")
endforeach()
configure_package_config_file(cmake/simmesh-config.cmake.in ${PROJECT_BINARY_DIR}/simmesh-config.cmake
  INSTALL_DESTINATION ${simmesh_package_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/simmesh-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/simmesh-config.cmake ${PROJECT_BINARY_DIR}/simmesh-config-version.cmake
  DESTINATION ${simmesh_package_folder})

# The file finds the libraries relative to its own place, so that an installed tree can be moved.
file(RELATIVE_PATH simmesh_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" simmesh_prefix_from_pc "${simmesh_prefix_from_pc}")
configure_file(cmake/simmesh.pc.in ${PROJECT_BINARY_DIR}/simmesh.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/simmesh.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(PROJECT_IS_TOP_LEVEL)
  include(cmake/package.cmake)
endif()
