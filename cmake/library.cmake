# Inside the tree a header is included by its path from the root, in quotes.
include_directories(${PROJECT_SOURCE_DIR})

# Users include <simmesh/mesh/device_mesh.h>. cmake/export_headers.cmake writes these headers, both for installation and for
# programs that add this tree to their own build.
set(simmesh_headers ${PROJECT_BINARY_DIR}/headers)
# In a project that adds this tree, its warnings are about its own code.
if(NOT PROJECT_IS_TOP_LEVEL)
  set(simmesh_system SYSTEM)
endif()

# simmesh_library(name [WHOLE] [ELEMENTWISE] FOLDERS folders... WITHOUT folders... COLD folders... USES targets...
# HIDES targets...) makes the library simmesh_<name> from all sources below the folders. Without FOLDERS, the folder is <name>.
# Those below the folders WITHOUT which it is made are of another library.
# Its headers include those of the targets that it USES; only its sources include those of the
# targets that it HIDES, so users need at most their libraries. WHOLE links all of it, for sources
# that register themselves and to which nothing refers: the sources are then in the library
# simmesh_<name>_archive.
#
# In a release build the sources are compiled with -O2, and with -O3 if the library is ELEMENTWISE:
# only loops over elements gain by it. The COLD ones of the folders take no time when they run; with
# -O1 they compile a third faster.
function(simmesh_library name)
  cmake_parse_arguments(LIBRARY "WHOLE;ELEMENTWISE" "" "FOLDERS;WITHOUT;COLD;USES;HIDES" ${ARGN})
  if(NOT LIBRARY_FOLDERS)
    set(LIBRARY_FOLDERS ${name})
  endif()
  simmesh_sources(sources ${LIBRARY_FOLDERS})
  simmesh_sources(others ${LIBRARY_WITHOUT})
  list(REMOVE_ITEM sources ${others})
  simmesh_sources(cold ${LIBRARY_COLD})
  list(REMOVE_ITEM sources ${cold})
  set(level -O2)
  if(LIBRARY_ELEMENTWISE)
    set(level -O3)
  elseif(NOT sources)
    set(level -O1)
    set(sources ${cold})
    set(cold)
  endif()
  set(exported ${name})
  if(LIBRARY_WHOLE)
    set(exported ${name}_archive)
    add_library(simmesh_${name} INTERFACE)
    add_library(simmesh::${name} ALIAS simmesh_${name})
    set_target_properties(simmesh_${name} PROPERTIES EXPORT_NAME ${name})
    # The name that is also the installed library's.
    target_link_libraries(simmesh_${name} INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,simmesh::${exported}>)
    set_property(GLOBAL APPEND PROPERTY simmesh_libraries simmesh_${name})
  endif()
  set(target simmesh_${exported})
  add_library(${target} STATIC ${sources})
  add_library(simmesh::${exported} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported} OUTPUT_NAME simmesh_${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  target_include_directories(${target} ${simmesh_system} INTERFACE
    $<BUILD_INTERFACE:${simmesh_headers}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target}
    PUBLIC ${LIBRARY_USES} PRIVATE ${LIBRARY_HIDES} $<BUILD_INTERFACE:simmesh_options>)
  add_dependencies(${target} simmesh_headers)
  if(cold)
    add_library(${target}_cold OBJECT ${cold})
    target_compile_options(${target}_cold PRIVATE $<$<CONFIG:Release>:-O1>)
    target_link_libraries(${target}_cold PRIVATE ${LIBRARY_USES} ${LIBRARY_HIDES} simmesh_options)
    add_dependencies(${target}_cold simmesh_headers)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cold>)
  endif()
  set_property(GLOBAL APPEND PROPERTY simmesh_libraries ${target})
  set_property(GLOBAL APPEND PROPERTY simmesh_components ${name})
  set_property(GLOBAL APPEND PROPERTY simmesh_folders ${LIBRARY_FOLDERS})
endfunction()

# simmesh_sources(result folders...) sets result to all sources below the folders.
function(simmesh_sources result)
  set(sources)
  if(ARGN)
    set(patterns ${ARGN})
    list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
    list(TRANSFORM patterns APPEND /*.cpp)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  endif()
  set(${result} ${sources} PARENT_SCOPE)
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
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/cmake/public_headers.cmake ${headers} ${PROJECT_SOURCE_DIR}/simmesh.h
    COMMENT "Exporting the headers"
    VERBATIM)
  add_custom_target(simmesh_headers DEPENDS ${simmesh_headers}/exported)
endfunction()

# simmesh_protobuf(name file) adds the messages of a .proto file to a library, whose sources include <folder/file.pb.h>. No other
# library sees them. They are generated here and not by the build, since clang-tidy reads them without a build.
function(simmesh_protobuf name file)
  set(proto ${PROJECT_SOURCE_DIR}/${file})
  set(generated ${PROJECT_BINARY_DIR}/generated)
  string(REGEX REPLACE "[.]proto$" ".pb" base ${generated}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${proto})
  if(${proto} IS_NEWER_THAN ${base}.h)
    file(MAKE_DIRECTORY ${generated})
    execute_process(
      COMMAND ${Protobuf_PROTOC_EXECUTABLE} --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${generated} ${proto}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  target_sources(simmesh_${name} PRIVATE ${base}.cc)
  set_source_files_properties(${base}.cc PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -w)
  target_include_directories(simmesh_${name} SYSTEM PRIVATE ${generated})
endfunction()
