# Builds PROGRAM with what pkg-config knows of the files installed in PREFIX, and runs it.
#
#   cmake -D PREFIX=... -D COMPILER=... -D PROGRAM=... -D OUTPUT=... -P pkg_config_test.cmake
file(GLOB_RECURSE found ${PREFIX}/*/simmesh.pc)
get_filename_component(folder "${found}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
set(build "${COMPILER} -std=c++20 -o ${OUTPUT} ${PROGRAM} $(pkg-config --cflags --libs simmesh) && ${OUTPUT}")
execute_process(COMMAND sh -c "${build}" OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT printed MATCHES "^8 ranks, 28 steps, data hash e382ed47e6421eb2")
  message(FATAL_ERROR "'${build}' ended with '${status}' and printed:\n${printed}")
endif()
file(REMOVE ${OUTPUT})
