# Installs the build tree BUILD into FOLDER, then builds and runs the project OUTSIDE with the installed files.
#
#   cmake -D BUILD=... -D OUTSIDE=... -D FOLDER=... -D COMPILER=... -P install_test.cmake
function(run_step)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "'${ARGN}' ended with '${status}' and printed:\n${printed}")
  endif()
  set(printed "${printed}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run_step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/installed)
run_step(${CMAKE_COMMAND} -G Ninja -S ${OUTSIDE} -B ${FOLDER}/build -D CMAKE_BUILD_TYPE=Release
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${FOLDER}/installed)
run_step(${CMAKE_COMMAND} --build ${FOLDER}/build)
run_step(${FOLDER}/build/outside)
if(NOT printed STREQUAL "ok 4 mesh\n")
  message(FATAL_ERROR "expected 'ok 4 mesh', got '${printed}'")
endif()
run_step(${FOLDER}/build/mesh_alone)
if(NOT printed STREQUAL "1\n")
  message(FATAL_ERROR "expected '1', got '${printed}'")
endif()
run_step(${FOLDER}/installed/bin/simmesh --version)
file(REMOVE_RECURSE ${FOLDER})
