# Public headers are exported with what they include, and what is no longer public is removed.
#
#   cmake -D SCRIPT=.../export_headers.cmake -D FOLDER=... -P export_headers_test.cmake
set(tree ${FOLDER}/tree)
set(headers ${FOLDER}/headers)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${tree}/simmesh.h "#pragma once\n#include \"a/one.h\"\n")
file(WRITE ${tree}/a/one.h "#pragma once\n#include <vector>\n\n#include \"a/inner/two.h\"\n")
file(WRITE ${tree}/a/inner/two.h "#pragma once\n")
file(WRITE ${tree}/a/inner/three.h "#pragma once\n")
file(WRITE ${tree}/b/four.h "#pragma once\n#include \"a/one.h\"\n")

# expect_exported(public folders headers...) exports a tree whose list of public headers is `public`.
function(expect_exported public folders)
  file(WRITE ${tree}/cmake/public_headers.cmake "set(simmesh_public_headers ${public})\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE=${tree} -D DESTINATION=${headers} -D "FOLDERS=${folders}" -P ${SCRIPT}
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE exported LIST_DIRECTORIES true RELATIVE ${headers}/simmesh ${headers}/simmesh/*)
  list(SORT exported)
  if(NOT exported STREQUAL "${ARGN}")
    message(FATAL_ERROR "expected ${ARGN}, got ${exported}")
  endif()
endfunction()

expect_exported("a/inner/three.h b/four.h" "a;b" a a/inner a/inner/three.h a/inner/two.h a/one.h b b/four.h simmesh.h)
file(READ ${headers}/simmesh/b/four.h text)
if(NOT text STREQUAL "#pragma once\n#include <simmesh/a/one.h>\n")
  message(FATAL_ERROR "expected includes as users write them, got ${text}")
endif()
# The library b isn't built.
expect_exported("a/inner/three.h b/four.h" "a" a a/inner a/inner/three.h a/inner/two.h a/one.h simmesh.h)
# A header is no longer public, and another no longer included.
file(WRITE ${tree}/a/one.h "#pragma once\n")
expect_exported("" "a;b" a a/one.h simmesh.h)

file(WRITE ${tree}/cmake/public_headers.cmake "set(simmesh_public_headers a/nowhere.h)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE=${tree} -D DESTINATION=${headers} -D FOLDERS=a -P ${SCRIPT}
  RESULT_VARIABLE status ERROR_VARIABLE printed)
if(status EQUAL 0 OR NOT printed MATCHES "expected a header a/nowhere.h")
  message(FATAL_ERROR "expected a public header that isn't there to be refused, got status ${status}: ${printed}")
endif()
file(REMOVE_RECURSE ${FOLDER})
