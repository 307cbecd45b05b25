# Flags that every target shares. Results may not depend on the compiler, so floating-point contraction is off
# everywhere; fused operations are written as such.
add_library(simmesh_options INTERFACE)
target_compile_features(simmesh_options INTERFACE cxx_std_20)
target_compile_options(simmesh_options INTERFACE -ffp-contract=off -fno-omit-frame-pointer)

# Messages name source files as they lie in the repository, wherever that is.
target_compile_options(simmesh_options INTERFACE
  "$<BUILD_INTERFACE:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>"
  "$<BUILD_INTERFACE:-fmacro-prefix-map=${PROJECT_BINARY_DIR}/headers/simmesh/=>")

# Warnings are errors here, and stay here: they don't reach a program that uses the installed libraries.
set(simmesh_warnings -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false positives inside its own standard library and Boost at -O2 and above.
  list(APPEND simmesh_warnings -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-maybe-uninitialized -Wno-restrict)
endif()
# Where one compilation takes several sources, names that are local to another source shadow nothing, and the types of an
# unnamed namespace are in no header.
if(NOT CMAKE_UNITY_BUILD)
  list(APPEND simmesh_warnings -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND simmesh_warnings -Wshadow=local -Wno-subobject-linkage)
endif()
target_compile_options(simmesh_options INTERFACE "$<BUILD_INTERFACE:${simmesh_warnings}>")

# The fibers tell the sanitizers of every switch (core/engine/fiber_switch.h).
if("address" IN_LIST SIMMESH_SANITIZE)
  target_compile_definitions(simmesh_options INTERFACE SIMMESH_ASAN)
endif()
if("thread" IN_LIST SIMMESH_SANITIZE)
  target_compile_definitions(simmesh_options INTERFACE SIMMESH_TSAN)
  set_source_files_properties(
    core/engine/ended_fibers.cpp core/engine/fiber_switch.cpp core/engine/fiber_scheduler.cpp
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()
foreach(sanitizer IN LISTS SIMMESH_SANITIZE)
  target_compile_options(simmesh_options INTERFACE -fsanitize=${sanitizer} -fno-sanitize-recover=all)
  target_link_options(simmesh_options INTERFACE -fsanitize=${sanitizer})
endforeach()

# Where ccache is installed, what was compiled once is not compiled again.
find_program(SIMMESH_CCACHE ccache)
if(SIMMESH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SIMMESH_CCACHE})
endif()

# The kernels exist once per instruction set; the program picks one while it runs. Nobody reads errno or
# traps after them, which lets compilers turn their branches into vector code; values don't depend on it.
set(simmesh_kernel_options -fno-math-errno -fno-trapping-math)
set_source_files_properties(core/kernels/kernels_portable.cpp PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(core/kernels/kernels_avx2.cpp
    PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options};-mavx2;-mfma;-mf16c")
  # gcc 12's own header of these instructions passes on a value that it leaves open, and warns of it at -O1.
  set_source_files_properties(core/kernels/kernels_avx512.cpp
    PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options};-mavx512f;-Wno-uninitialized")
endif()
