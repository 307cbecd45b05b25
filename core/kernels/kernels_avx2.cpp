#include <simmesh/core/kernels/kernels.h>

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SIMMESH_KERNELS avx2_variant
#define SIMMESH_VECTOR_BYTES 32
// Each uses those before it.
// clang-format off
#include <simmesh/core/kernels/lanes.h>
#include <simmesh/core/kernels/product_kernels.h>
#include <simmesh/core/kernels/packing_kernels.h>
#include <simmesh/core/kernels/wide_kernels.h>
#include <simmesh/core/kernels/triple_kernels.h>
#include <simmesh/core/kernels/fold_kernels.h>
#include <simmesh/core/kernels/slice_kernels.h>
#include <simmesh/core/kernels/sum_kernels.h>
#include <simmesh/core/kernels/function_coefficients.h>
#include <simmesh/core/kernels/function_kernels.h>
#include <simmesh/core/kernels/pair_function_kernels.h>
#include <simmesh/core/kernels/apply_function_kernels.h>
#include <simmesh/core/kernels/element_kernels.h>
#include <simmesh/core/kernels/combine_kernels.h>
#include <simmesh/core/kernels/conversion_kernels.h>
#include <simmesh/core/kernels/copy_kernels.h>
#include <simmesh/core/kernels/kernel_table.h>
// clang-format on

const simmesh::Kernels* simmesh::avx2_kernels() { return &avx2_variant::table; }
#else
const simmesh::Kernels* simmesh::avx2_kernels() { return nullptr; }
#endif
