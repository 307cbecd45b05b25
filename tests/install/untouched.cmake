# A project's own settings must not change when it finds simmesh and links it.
set(settings CMAKE_CXX_STANDARD CMAKE_CXX_EXTENSIONS CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_RELEASE CMAKE_BUILD_TYPE
  CMAKE_EXE_LINKER_FLAGS CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_CXX_COMPILER_LAUNCHER CMAKE_EXPORT_COMPILE_COMMANDS
  CMAKE_UNITY_BUILD CMAKE_COMPILE_WARNING_AS_ERROR CMAKE_FIND_PACKAGE_TARGETS_GLOBAL BUILD_TESTING)
set(properties COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS TESTS)

macro(remember_settings)
  foreach(setting IN LISTS settings)
    set(${setting}_before "${${setting}}")
  endforeach()
  foreach(property IN LISTS properties)
    get_directory_property(${property}_before ${property})
  endforeach()
endmacro()

# expect_untouched(target) fails if a setting changed, or if the target would be compiled or linked with options that it
# doesn't have from the project. Those that it inherits are known only once all is configured; they are written to
# <target>.options, which must be empty lines.
macro(expect_untouched target)
  foreach(setting IN LISTS settings)
    if(NOT "${${setting}}" STREQUAL "${${setting}_before}")
      message(FATAL_ERROR "expected ${setting} to stay '${${setting}_before}', got '${${setting}}'")
    endif()
  endforeach()
  foreach(property IN LISTS properties)
    get_directory_property(now ${property})
    if(NOT "${now}" STREQUAL "${${property}_before}")
      message(FATAL_ERROR "expected ${property} to stay '${${property}_before}', got '${now}'")
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${target}.options
    CONTENT "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>\n$<TARGET_PROPERTY:${target},LINK_OPTIONS>\n" TARGET ${target})
endmacro()
