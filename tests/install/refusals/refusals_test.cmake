# Errors for a project that asks for a library or a package that doesn't exist.
#
#   cmake -D PREFIX=... -D SOURCE=... -D BUILD=... -P refusals.cmake
function(expect_error text)
  file(REMOVE_RECURSE ${BUILD})
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${BUILD} -D CMAKE_PREFIX_PATH=${PREFIX} ${ARGN}
    OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " printed "${printed}")
  string(FIND "${printed}" "${text}" at)
  if(status EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "expected '${text}', got status ${status}:\n${printed}")
  endif()
  file(REMOVE_RECURSE ${BUILD})
endfunction()

expect_error("training, traces, replay, verify, gate, got nonsense"
  -D COMPONENTS=nonsense)
expect_error("nlohmann_json" -D COMPONENTS=verify -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
