# Writes the headers of FOLDERS to DESTINATION/simmesh, with includes as users write them: inside the tree an include is a path
# from the root of the repository, and users add the prefix simmesh. A header that didn't change keeps its time stamp. A header
# that is no longer in the tree is removed.
#
#   cmake -D SOURCE=... -D DESTINATION=... -D "FOLDERS=core;mesh" -P export_headers.cmake
cmake_policy(VERSION 3.25)
set(headers simmesh.h)
foreach(folder IN LISTS FOLDERS)
  file(GLOB_RECURSE found RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.h)
  list(APPEND headers ${found})
endforeach()

file(GLOB_RECURSE exported RELATIVE ${DESTINATION}/simmesh ${DESTINATION}/simmesh/*.h)
list(REMOVE_ITEM exported ${headers})
foreach(header IN LISTS exported)
  file(REMOVE ${DESTINATION}/simmesh/${header})
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
