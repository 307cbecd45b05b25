# Inside the tree a header is included by its path from the root, in quotes.
include_directories(${PROJECT_SOURCE_DIR})

# Users include <simmesh/mesh/device_mesh.h>. cmake/export_headers.cmake writes these headers, both for installation and for
# programs that add this tree to their own build.
set(simmesh_headers ${PROJECT_BINARY_DIR}/headers)

# simmesh_library(name [WHOLE] FOLDERS folders... USES targets...) makes the library simmesh_<name> from all sources below the
# folders. Without FOLDERS, the folder is <name>. WHOLE links all of it, for sources that make themselves known and that
# nothing refers to. The property simmesh_linked says how to link the library.
function(simmesh_library name)
  cmake_parse_arguments(LIBRARY "WHOLE" "" "FOLDERS;USES" ${ARGN})
  if(NOT LIBRARY_FOLDERS)
    set(LIBRARY_FOLDERS ${name})
  endif()
  set(patterns ${LIBRARY_FOLDERS})
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  list(TRANSFORM patterns APPEND /*.cpp)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  add_library(simmesh_${name} STATIC ${sources})
  target_include_directories(simmesh_${name} INTERFACE
    $<BUILD_INTERFACE:${simmesh_headers}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(simmesh_${name} PUBLIC ${LIBRARY_USES})
  set(linked simmesh_${name})
  if(LIBRARY_WHOLE)
    # The name that is also the installed library's.
    set(linked $<LINK_LIBRARY:WHOLE_ARCHIVE,simmesh::${name}>)
  endif()
  set_target_properties(simmesh_${name} PROPERTIES EXPORT_NAME ${name} simmesh_linked "${linked}")
  add_library(simmesh::${name} ALIAS simmesh_${name})
  add_dependencies(simmesh_${name} simmesh_headers)
  set_property(GLOBAL APPEND PROPERTY simmesh_libraries ${name})
  set_property(GLOBAL APPEND PROPERTY simmesh_folders ${LIBRARY_FOLDERS})
endfunction()

# simmesh_export_headers() makes the target that exports the headers of all libraries defined before.
function(simmesh_export_headers)
  get_property(folders GLOBAL PROPERTY simmesh_folders)
  set(patterns ${folders})
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  list(TRANSFORM patterns APPEND /*.h)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${patterns})
  set(script ${PROJECT_SOURCE_DIR}/cmake/export_headers.cmake)
  add_custom_command(OUTPUT ${simmesh_headers}/exported
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D DESTINATION=${simmesh_headers}
      -D "FOLDERS=${folders}" -P ${script}
    COMMAND ${CMAKE_COMMAND} -E touch ${simmesh_headers}/exported
    DEPENDS ${script} ${headers} ${PROJECT_SOURCE_DIR}/simmesh.h
    COMMENT "Exporting the headers"
    VERBATIM)
  add_custom_target(simmesh_headers DEPENDS ${simmesh_headers}/exported)
endfunction()
