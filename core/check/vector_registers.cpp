#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/check/vector_registers.h"

namespace simmesh {

#if defined(__x86_64__)

namespace {

__attribute__((target("avx"))) void zero_upper_halves() { _mm256_zeroupper(); }

}  // namespace

void release_upper_halves() {
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
}

#else

void release_upper_halves() {}

#endif

}  // namespace simmesh
