# Installs the build tree BUILD below a staging folder, as packagers do, and moves the installed
# files to PREFIX: an installed tree works anywhere.
#
#   cmake -D BUILD=... -D PREFIX=... -P install_files.cmake
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.stage)
set(ENV{DESTDIR} ${PREFIX}.stage)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix /opt/simmesh
  OUTPUT_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cmake --install ended with '${status}'")
endif()
file(RENAME ${PREFIX}.stage/opt/simmesh ${PREFIX})
file(REMOVE_RECURSE ${PREFIX}.stage)

# The headers that programs see are the same as where this tree is a part of their build.
file(GLOB_RECURSE exported RELATIVE ${BUILD}/headers ${BUILD}/headers/simmesh/*)
file(GLOB_RECURSE installed RELATIVE ${PREFIX}/include ${PREFIX}/include/*)
if(NOT installed OR NOT installed STREQUAL exported)
  list(REMOVE_ITEM installed ${exported})
  message(FATAL_ERROR "expected the headers in ${BUILD}/headers to be installed, and no others, got besides: ${installed}")
endif()

execute_process(COMMAND ${PREFIX}/bin/simmesh --version RESULT_VARIABLE status OUTPUT_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the installed program ended with '${status}'")
endif()
