#include <simmesh/core/arithmetic/kernels.h>

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SIMMESH_KERNELS avx2_variant
#define SIMMESH_VECTOR_BYTES 32
// Each uses those before it.
// clang-format off
#include <simmesh/core/arithmetic/lanes.h>
#include <simmesh/core/arithmetic/product_kernels.h>
#include <simmesh/core/arithmetic/packing_kernels.h>
#include <simmesh/core/arithmetic/wide_kernels.h>
#include <simmesh/core/arithmetic/triple_kernels.h>
#include <simmesh/core/arithmetic/fold_kernels.h>
#include <simmesh/core/arithmetic/slice_kernels.h>
#include <simmesh/core/arithmetic/sum_kernels.h>
#include <simmesh/core/arithmetic/function_coefficients.h>
#include <simmesh/core/arithmetic/function_kernels.h>
#include <simmesh/core/arithmetic/pair_function_kernels.h>
#include <simmesh/core/arithmetic/apply_function_kernels.h>
#include <simmesh/core/arithmetic/element_kernels.h>
#include <simmesh/core/arithmetic/combine_kernels.h>
#include <simmesh/core/arithmetic/conversion_kernels.h>
#include <simmesh/core/arithmetic/copy_kernels.h>
#include <simmesh/core/arithmetic/kernel_table.h>
// clang-format on

const simmesh::Kernels* simmesh::avx2_kernels() { return &avx2_variant::table; }
#else
const simmesh::Kernels* simmesh::avx2_kernels() { return nullptr; }
#endif
