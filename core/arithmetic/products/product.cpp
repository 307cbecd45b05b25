#include "core/arithmetic/products/product.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/arithmetic/products/packing.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

// Block sizes that keep a panel of b in the first cache and one of a in the second.
constexpr std::int64_t depth_block = 256;
constexpr std::int64_t row_block = 168;
constexpr std::int64_t column_block = 2048;
// Operands smaller than this fit into the first cache without packing.
constexpr std::int64_t direct_elements_max = 4096;
constexpr std::int64_t direct_columns_max = 192;

// Chains computes a product with accumulators of type T into c, whose columns are contiguous. Rows
// and columns may be exchanged: then both factors and the result are transposed.
template <class T>
class Chains {
 public:
  Chains(const Product& product, const Kernels& kernels) : product_(product), kernels_(kernels) {
    if constexpr (std::is_same_v<T, float>) {
      kernel_ = kernels.chain_float;
      tile_ = kernels.float_tile;
    } else {
      kernel_ = kernels.chain_double;
      tile_ = kernels.double_tile;
    }
    width_ = std::int64_t(tile_.vectors) * tile_.lanes;
    bool wants_packing_of_b = product.b.column_stride != 1 && product.b.row_stride == 1;
    exchanged_ =
        product.rows >= tile_.lanes
            ? product.columns < tile_.lanes || (wants_packing_of_b && product.rows <= tile_.lanes)
            : product.columns < product.rows;
    if (exchanged_) {
      product_.a = transposed(product.b);
      product_.b = transposed(product.a);
      std::swap(product_.rows, product_.columns);
    }
    in_place_ = !exchanged_ && product.result_dtype == dtype_of<T>;
  }

  void run() {
    std::int64_t rows = product_.rows, columns = product_.columns, depth = product_.depth;
    if (rows == 0 || columns == 0) return;
    std::int64_t block = std::min(columns, column_block);
    std::int64_t block_width = (block + width_ - 1) / width_ * width_;
    std::int64_t deep = std::min(depth, depth_block);
    plan_packing(block);
    if (!in_place_) scratch_ = std::make_unique_for_overwrite<T[]>(std::size_t(rows * block_width));
    packed_b_ =
        std::make_unique_for_overwrite<T[]>(std::size_t((packs_b_ ? block_width : width_) * deep));
    if (packs_a_)
      packed_a_ = std::make_unique_for_overwrite<T[]>(
          std::size_t((std::min(rows, row_block) + tile_.rows) * deep));
    edge_ = std::make_unique_for_overwrite<T[]>(std::size_t(tile_.rows * width_));
    for (std::int64_t j = 0; j < columns; j += block) {
      std::int64_t count = std::min(block, columns - j);
      c_ = in_place_ ? reinterpret_cast<T*>(product_.result) + j : scratch_.get();
      c_row_stride_ = in_place_ ? product_.result_row_stride : block_width;
      if (!in_place_ && product_.adds_to_result) load_block(j, count);
      std::int64_t k = 0;
      do {
        depth_stretch(j, count, k, std::min(depth_block, depth - k));
        k += depth_block;
      } while (k < depth);
      if (!in_place_) round_block(j, count);
    }
  }

 private:
  void plan_packing(std::int64_t columns) {
    const ProductOperand &a = product_.a, &b = product_.b;
    packs_b_ =
        b.dtype != dtype_of<T> || b.column_stride != 1 ||
        (product_.rows > 2 * tile_.rows && product_.depth * product_.columns > direct_elements_max);
    packs_a_ = a.dtype != dtype_of<T> || (columns > direct_columns_max && product_.rows > 1);
  }

  const T* at(const ProductOperand& operand, std::int64_t row, std::int64_t column) const {
    return reinterpret_cast<const T*>(operand.data) + row * operand.row_stride +
           column * operand.column_stride;
  }

  void depth_stretch(std::int64_t first_column, std::int64_t columns, std::int64_t k,
                     std::int64_t depth) {
    std::int64_t direct_columns = packs_b_ ? 0 : columns / width_ * width_;
    if (direct_columns < columns)
      pack_panels<T>(transposed(product_.b),
                     {.line_begin = first_column + direct_columns,
                      .line_count = columns - direct_columns,
                      .depth_begin = k,
                      .depth = depth,
                      .width = width_},
                     kernels_, packed_b_.get());
    std::int64_t rows_per_block = row_block / tile_.rows * tile_.rows;
    for (std::int64_t i = 0; i < product_.rows; i += rows_per_block) {
      std::int64_t rows = std::min(rows_per_block, product_.rows - i);
      if (packs_a_)
        pack_panels<T>(product_.a,
                       {.line_begin = i,
                        .line_count = rows,
                        .depth_begin = k,
                        .depth = depth,
                        .width = tile_.rows},
                       kernels_, packed_a_.get());
      for (std::int64_t j = 0; j < columns; j += width_) {
        ProductTile<T> tile;
        tile.depth = depth;
        bool direct = j < direct_columns;
        tile.b = direct ? at(product_.b, k, first_column + j)
                        : packed_b_.get() + (j - direct_columns) * depth;
        tile.b_depth_stride = direct ? product_.b.row_stride : width_;
        row_of_tiles(tile, {i, rows}, {j, std::min(width_, columns - j)}, k);
      }
    }
  }

  struct Range {
    std::int64_t begin, count;
  };

  void row_of_tiles(ProductTile<T>& tile, const Range& rows, const Range& columns, std::int64_t k) {
    bool whole = columns.count == width_ || !in_place_;
    bool starts = k == 0 && !product_.adds_to_result;
    tile.vectors = columns.count <= tile_.lanes ? 1 : tile_.vectors;
    for (std::int64_t i = 0; i < rows.count; i += tile_.rows) {
      tile.rows = int(std::min<std::int64_t>(tile_.rows, rows.count - i));
      tile.a = packs_a_ ? packed_a_.get() + i * tile.depth : at(product_.a, rows.begin + i, k);
      tile.a_row_stride = packs_a_ ? 1 : product_.a.row_stride;
      tile.a_depth_stride = packs_a_ ? tile_.rows : product_.a.column_stride;
      T* c = c_ + (rows.begin + i) * c_row_stride_ + columns.begin;
      if (whole) {
        kernel_(tile, c, c_row_stride_, starts);
        continue;
      }
      for (int r = 0; !starts && r < tile.rows; ++r)
        std::copy(c + r * c_row_stride_, c + r * c_row_stride_ + columns.count,
                  edge_.get() + r * width_);
      kernel_(tile, edge_.get(), width_, starts);
      for (int r = 0; r < tile.rows; ++r)
        std::copy(edge_.get() + r * width_, edge_.get() + r * width_ + columns.count,
                  c + r * c_row_stride_);
    }
  }

  // visit_block calls f(element of the result, accumulator) in a block of columns.
  template <class F>
  void visit_block(std::int64_t first_column, std::int64_t columns, F&& f) {
    std::int64_t row_stride = exchanged_ ? 1 : product_.result_row_stride;
    std::int64_t column_stride = exchanged_ ? product_.result_row_stride : 1;
    visit_dtype(product_.result_dtype, [&]<class R>(R) {
      if constexpr (!std::is_integral_v<R>)
        for (std::int64_t i = 0; i < product_.rows; ++i) {
          R* out =
              reinterpret_cast<R*>(product_.result) + i * row_stride + first_column * column_stride;
          T* row = c_ + i * c_row_stride_;
          for (std::int64_t j = 0; j < columns; ++j) f(out[j * column_stride], row[j]);
        }
    });
  }

  void load_block(std::int64_t first_column, std::int64_t columns) {
    visit_block(first_column, columns, [](const auto& out, T& sum) { sum = static_cast<T>(out); });
  }

  void round_block(std::int64_t first_column, std::int64_t columns) {
    visit_block(first_column, columns, []<class R>(R& out, T sum) {
      if constexpr (std::is_same_v<T, float>)
        out = static_cast<R>(sum);
      else
        out = rounded_to<R>(sum);
    });
  }

  Product product_;
  const Kernels& kernels_;
  ChainTile<T> kernel_ = nullptr;
  TileSize tile_ = {};
  std::int64_t width_ = 0;
  bool exchanged_ = false, in_place_ = false, packs_a_ = false, packs_b_ = false;
  std::unique_ptr<T[]> packed_a_, packed_b_, scratch_, edge_;
  T* c_ = nullptr;
  std::int64_t c_row_stride_ = 0;
};

template <class T>
void integer_product(const Product& p) {
  using U = std::make_unsigned_t<T>;
  auto* result = reinterpret_cast<T*>(p.result);
  const auto* a = reinterpret_cast<const T*>(p.a.data);
  const auto* b = reinterpret_cast<const T*>(p.b.data);
  for (std::int64_t i = 0; i < p.rows; ++i) {
    T* row = result + i * p.result_row_stride;
    if (!p.adds_to_result) std::fill(row, row + p.columns, T(0));
    for (std::int64_t k = 0; k < p.depth; ++k) {
      auto factor = static_cast<std::uint64_t>(a[i * p.a.row_stride + k * p.a.column_stride]);
      const T* line = b + k * p.b.row_stride;
      for (std::int64_t j = 0; j < p.columns; ++j)
        row[j] = static_cast<T>(
            static_cast<U>(static_cast<std::uint64_t>(row[j]) +
                           factor * static_cast<std::uint64_t>(line[j * p.b.column_stride])));
    }
  }
}

}  // namespace

void canonical_product(const Product& product, InstructionSet set) {
  check_product(product);
  if (!is_floating_point(product.a.dtype))
    return visit_dtype(product.a.dtype, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) integer_product<T>(product);
    });
  if (product.a.dtype == DType::float64 || product.b.dtype == DType::float64)
    Chains<double>(product, kernels_of(set)).run();
  else
    Chains<float>(product, kernels_of(set)).run();
}

}  // namespace simmesh
