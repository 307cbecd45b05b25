# Writes the public headers below FOLDERS, and what they include, to DESTINATION/simmesh, with includes as users write them:
# inside the tree an include is a path from the root of the repository, and users add the prefix simmesh. Public are simmesh.h
# and the headers in cmake/public_headers.cmake. A header that didn't change keeps its time stamp. A header that is no longer
# public or in the tree is removed, and so is a folder that has no header left.
#
#   cmake -D SOURCE=... -D DESTINATION=... -D "FOLDERS=core;mesh" -P export_headers.cmake
cmake_policy(VERSION 3.25)
include(${SOURCE}/cmake/public_headers.cmake)

# Headers whose libraries aren't built stay out.
set(headers simmesh.h)
foreach(folder IN LISTS FOLDERS)
  set(below ${simmesh_public_headers})
  list(FILTER below INCLUDE REGEX "^${folder}/")
  list(APPEND headers ${below})
endforeach()

set(waiting ${headers})
while(waiting)
  list(POP_FRONT waiting header)
  if(NOT EXISTS ${SOURCE}/${header})
    message(FATAL_ERROR "expected a header ${header}, which cmake/public_headers.cmake names or a public header includes")
  endif()
  file(STRINGS ${SOURCE}/${header} includes REGEX "^#include \"")
  list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
  list(REMOVE_ITEM includes ${headers})
  list(APPEND headers ${includes})
  list(APPEND waiting ${includes})
endwhile()

file(GLOB_RECURSE exported RELATIVE ${DESTINATION}/simmesh ${DESTINATION}/simmesh/*.h)
list(REMOVE_ITEM exported ${headers})
foreach(header IN LISTS exported)
  file(REMOVE ${DESTINATION}/simmesh/${header})
  set(left)
  while(NOT left AND header MATCHES "/")
    get_filename_component(header ${header} DIRECTORY)
    file(GLOB left ${DESTINATION}/simmesh/${header}/*)
    if(NOT left)
      file(REMOVE_RECURSE ${DESTINATION}/simmesh/${header})
    endif()
  endwhile()
endforeach()

foreach(header IN LISTS headers)
  file(READ ${SOURCE}/${header} text)
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <simmesh/\\1>" text "${text}")
  set(before "")
  if(EXISTS ${DESTINATION}/simmesh/${header})
    file(READ ${DESTINATION}/simmesh/${header} before)
  endif()
  if(NOT text STREQUAL before)
    file(WRITE ${DESTINATION}/simmesh/${header} "${text}")
  endif()
endforeach()
