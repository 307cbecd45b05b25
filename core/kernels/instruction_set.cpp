#include "core/kernels/instruction_set.h"

#include <array>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/check/check.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports knows the name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

bool runs_here(InstructionSet set) {
#if defined(__x86_64__)
  static const bool f16c = has_f16c();
  if (set == InstructionSet::avx2)
    return avx2_kernels() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           f16c;
  if (set == InstructionSet::avx512) return avx512_kernels() && __builtin_cpu_supports("avx512f");
#endif
  return set == InstructionSet::portable;
}

struct Available {
  std::array<InstructionSet, 3> sets = {};
  std::size_t count = 0;

  Available() {
    for (InstructionSet set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512})
      if (runs_here(set)) sets[count++] = set;
  }
};

}  // namespace

std::string_view to_string(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: return "portable";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
  }
  SIMMESH_CHECK(false, "unknown instruction set {}", int(set));
}

gsl::span<const InstructionSet> available_instruction_sets() {
  static const Available available;
  return {available.sets.data(), available.count};
}

InstructionSet best_instruction_set() {
  auto available = available_instruction_sets();
  return available[available.size() - 1];
}

const Kernels& kernels_of(InstructionSet set) {
  SIMMESH_CHECK(runs_here(set), "this processor lacks {}", to_string(set));
  if (set == InstructionSet::avx512) return *avx512_kernels();
  return set == InstructionSet::avx2 ? *avx2_kernels() : *portable_kernels();
}

}  // namespace simmesh
