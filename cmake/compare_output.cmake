# Runs PROGRAM, by LAUNCHER if there is one, and fails unless it ends with status 0 and prints exactly what the file EXPECTED
# holds.
execute_process(COMMAND ${LAUNCHER} ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with '${status}' and printed:\n${printed}")
endif()
file(READ ${EXPECTED} expected)
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "expected the text of ${EXPECTED}:\n${expected}\ngot:\n${printed}")
endif()
