# Defines the version, which comes from CMakeLists.txt, and the source revision that failure reports name. Outside a checkout
# the revision is unknown.
find_package(Git QUIET)
set(simmesh_revision "unknown")
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0)
    set(simmesh_revision ${revision})
  endif()
endif()
foreach(head HEAD logs/HEAD)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git/${head})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/${head})
  endif()
endforeach()
set_source_files_properties(core/check/repro.cpp
  PROPERTIES COMPILE_DEFINITIONS
    "SIMMESH_VERSION=\"${PROJECT_VERSION}\";SIMMESH_REVISION=\"${simmesh_revision}\"")
