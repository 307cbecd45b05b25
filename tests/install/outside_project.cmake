# Configures the project SOURCE into the folder BUILD with the words OPTIONS, builds it, and runs its tests.
#
#   cmake -D SOURCE=... -D BUILD=... -D "OPTIONS=-D A=B ..." -P outside_project.cmake
function(run_step)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "'${ARGN}' ended with '${status}' and printed:\n${printed}")
  endif()
endfunction()

file(REMOVE_RECURSE ${BUILD})
separate_arguments(options UNIX_COMMAND "${OPTIONS}")
run_step(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${BUILD} ${options})
run_step(${CMAKE_COMMAND} --build ${BUILD})
run_step(${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} --output-on-failure --no-tests=error)

file(GLOB inherited ${BUILD}/*.options)
foreach(file IN LISTS inherited)
  file(READ ${file} options)
  string(REPLACE "-DGTEST_HAS_PTHREAD=1" "" options "${options}")  # GoogleTest's own
  if(NOT options STREQUAL "\n\n")
    message(FATAL_ERROR "expected no inherited compile and link options in ${file}, got:\n${options}")
  endif()
endforeach()
