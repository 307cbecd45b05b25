# Families of ops, found by the names of their sources: to add one, add its sources. They are in these rooms, which are folders of
# core/ops, core/gradients and sharding/strategies; core/samples has one source a room.
set(simmesh_op_rooms shapes elementwise indexing reductions matrices random neural)

# simmesh_families(name KIND kind FOLDER folder TYPE type HEADER header) adds a source to the library simmesh_<name>. It defines
# `type collected_<kind>()`, which the header declares, and which calls `void <source>_<kind>(type&)` for each source in a room of
# the folder; a source that doesn't define this function can't be linked. The source is written here and not by the build, since
# clang-tidy reads it without a build.
function(simmesh_families name)
  cmake_parse_arguments(FAMILIES "" "KIND;FOLDER;TYPE;HEADER" "" ${ARGN})
  set(patterns)
  foreach(room IN LISTS simmesh_op_rooms)
    list(APPEND patterns
      ${PROJECT_SOURCE_DIR}/${FAMILIES_FOLDER}/${room}.cpp ${PROJECT_SOURCE_DIR}/${FAMILIES_FOLDER}/${room}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    message(FATAL_ERROR "${FAMILIES_FOLDER} has no families in its rooms: ${simmesh_op_rooms}")
  endif()
  list(TRANSFORM sources REPLACE "^.*/(.*)[.]cpp$" "\\1")
  list(SORT sources)
  set(declarations)
  set(calls)
  foreach(family IN LISTS sources)
    string(APPEND declarations "void ${family}_${FAMILIES_KIND}(${FAMILIES_TYPE}& families);\n")
    string(APPEND calls "  ${family}_${FAMILIES_KIND}(families);\n")
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/generated/${FAMILIES_FOLDER}/collected_${FAMILIES_KIND}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
// Written by cmake/families.cmake.
#include "@FAMILIES_HEADER@"

namespace simmesh {

@declarations@
@FAMILIES_TYPE@ collected_@FAMILIES_KIND@() {
  @FAMILIES_TYPE@ families;
@calls@  return families;
}

}  // namespace simmesh
]])
  target_sources(simmesh_${name} PRIVATE ${source})
endfunction()
