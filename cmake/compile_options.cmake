# Flags that all targets of this tree share, and that don't reach a program that links them. Results must not depend on the
# compiler, so floating-point contraction is off everywhere; fused operations are written explicitly.
add_library(simmesh_options INTERFACE)
target_compile_features(simmesh_options INTERFACE cxx_std_20)
target_compile_options(simmesh_options INTERFACE -ffp-contract=off -fno-omit-frame-pointer)

# The libraries are also linked into the Python module, which is a shared library. Nobody replaces a
# function of theirs at load time, so calls may be inlined as in a program.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
target_compile_options(simmesh_options INTERFACE -fno-semantic-interposition)

# A batch ends before its memory is worth collecting: gcc spends a tenth of its time on that. A
# target without batches is also read by clang-tidy, which doesn't know the option.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  target_compile_options(simmesh_options INTERFACE
    "$<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:SHELL:--param ggc-min-heapsize=524288>")
endif()

# Messages name source files by their path in the repository, wherever the repository is.
target_compile_options(simmesh_options INTERFACE
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fmacro-prefix-map=${PROJECT_BINARY_DIR}/headers/simmesh/=)

# The presets make warnings errors, by CMAKE_COMPILE_WARNING_AS_ERROR. A project that adds this tree
# doesn't see them.
set(simmesh_warnings -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false positives inside its own standard library and Boost at -O2 and above.
  list(APPEND simmesh_warnings -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-maybe-uninitialized -Wno-restrict)
endif()
# In a unity build one compilation includes several sources. Names that are local to another source are then no reason to warn
# of shadowing, and types in an unnamed namespace are not in a header.
if(NOT CMAKE_UNITY_BUILD)
  list(APPEND simmesh_warnings -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND simmesh_warnings -Wshadow=local -Wno-subobject-linkage)
endif()
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(simmesh_options INTERFACE ${simmesh_warnings})
else()
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()

# The fibers tell the sanitizers of every switch (core/engine/fibers/fiber_switch.h).
if("address" IN_LIST SIMMESH_SANITIZE)
  target_compile_definitions(simmesh_options INTERFACE SIMMESH_ASAN)
endif()
if("thread" IN_LIST SIMMESH_SANITIZE)
  target_compile_definitions(simmesh_options INTERFACE SIMMESH_TSAN)
  set_source_files_properties(
    core/engine/fibers/ended_fibers.cpp core/engine/fibers/fiber_switch.cpp core/engine/seats/fiber_scheduler.cpp
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()
foreach(sanitizer IN LISTS SIMMESH_SANITIZE)
  target_compile_options(simmesh_options INTERFACE -fsanitize=${sanitizer} -fno-sanitize-recover=all)
  target_link_options(simmesh_options INTERFACE -fsanitize=${sanitizer})
endforeach()

# The kernels are compiled once per instruction set, and the program picks one at run time. Nothing reads errno or floating-point
# traps after them, which lets compilers turn their branches into vector code. Values don't depend on these flags.
set(simmesh_kernel_options -fno-math-errno -fno-trapping-math)
set_source_files_properties(core/kernels/kernels_portable.cpp PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(core/kernels/kernels_avx2.cpp
    PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options};-mavx2;-mfma;-mf16c")
  # gcc 12's own header for these instructions uses an uninitialised value on purpose, and gcc warns of it at -O1.
  set_source_files_properties(core/kernels/kernels_avx512.cpp
    PROPERTIES COMPILE_OPTIONS "${simmesh_kernel_options};-mavx512f;-Wno-uninitialized")
endif()
