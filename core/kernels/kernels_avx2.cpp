#include "core/kernels/kernels.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SIMMESH_KERNELS avx2_variant
#define SIMMESH_VECTOR_BYTES 32
// Each uses those before it.
// clang-format off
#include "core/kernels/lanes.h"
#include "core/kernels/product_kernels.h"
#include "core/kernels/packing_kernels.h"
#include "core/kernels/wide_kernels.h"
#include "core/kernels/triple_kernels.h"
#include "core/kernels/fold_kernels.h"
#include "core/kernels/pair_kernels.h"
#include "core/kernels/slice_kernels.h"
#include "core/kernels/sum_kernels.h"
#include "core/kernels/function_coefficients.h"
#include "core/kernels/function_kernels.h"
#include "core/kernels/pair_function_kernels.h"
#include "core/kernels/apply_function_kernels.h"
#include "core/kernels/element_kernels.h"
#include "core/kernels/combine_kernels.h"
#include "core/kernels/conversion_kernels.h"
#include "core/kernels/copy_kernels.h"
#include "core/kernels/kernel_table.h"
// clang-format on

const simmesh::Kernels* simmesh::avx2_kernels() { return &avx2_variant::table; }
#else
const simmesh::Kernels* simmesh::avx2_kernels() { return nullptr; }
#endif
