#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/diagonals.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Returns the shape of a grid's tensor i, with sizes of one in all other dims.
Tensor of_grid(const std::vector<Tensor>& tensors, std::size_t i, const Shape& grid) {
  Shape own(grid.size(), 1);
  own[i] = grid[i];
  return expand(view(tensors[i], own), grid);
}

std::vector<Tensor> grids(std::vector<Tensor> tensors, const std::string& indexing) {
  bool swaps = indexing == "xy" && tensors.size() > 1;
  if (swaps) std::swap(tensors[0], tensors[1]);
  Shape shape;
  for (const Tensor& tensor : tensors) shape.push_back(tensor.numel());
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < tensors.size(); ++i) result.push_back(of_grid(tensors, i, shape));
  if (!swaps) return result;
  for (Tensor& grid : result) grid = transpose(grid, 0, 1);
  std::swap(result[0], result[1]);
  return result;
}

Tensor at_least_three_dims(const Tensor& x) {
  if (x.dim() == 0) return view(x, {1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}

std::vector<Tensor> cut_evenly(PythonCall& call, const char* name, std::int64_t dim) {
  Tensor x = call.tensor("self");
  std::vector<PythonValue> entries = call.entries("indices_or_sections");
  if (!entries.empty()) return tensor_split(x, DimSpan(call.dims("indices_or_sections")), dim);
  std::int64_t sections = call.integer("indices_or_sections");
  if (x.dim() <= dim || sections <= 0 || x.size(dim) % sections != 0)
    raise(ErrorKind::runtime_error, name,
          "{} attempted to split along dimension {}, but the size of the dimension is not "
          "divisible by the split_size {}!",
          name, dim, sections);
  return tensor_split(x, sections, dim);
}

// Moves blocks of channels into the pixels of images [.., C r r, H, W]: [.., C, H r, W r]. A shard
// that can't be merged with such a block is gathered.
Tensor shuffled_pixels(const Tensor& x, std::int64_t factor) {
  if (x.dim() < 3 || factor <= 0 || x.size(-3) % (factor * factor) != 0)
    raise(ErrorKind::runtime_error, "pixel_shuffle",
          "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
          "upscale_factor, but input.size(-3)={} is not divisible by {}",
          x.dim() < 3 ? 0 : x.size(-3), factor * factor);
  std::int64_t channels = x.size(-3) / (factor * factor), rows = x.size(-2), columns = x.size(-1);
  Shape blocks(x.shape().begin(), x.shape().end() - 3);
  Dims order;
  for (std::int64_t dim = 0; dim < std::int64_t(blocks.size()); ++dim) order.push_back(dim);
  auto first = std::int64_t(blocks.size());
  for (std::int64_t place : {0, 3, 1, 4, 2}) order.push_back(first + place);
  Shape result = blocks;
  blocks.insert(blocks.end(), {channels, factor, factor, rows, columns});
  result.insert(result.end(), {channels, rows * factor, columns * factor});
  Tensor moved = permute(view(x, blocks), order);
  return call_one(*find_op("reshape"), {x.distribution() ? moved : contiguous(moved)},
                  {attribute::size = result});
}

PythonFunctions composed_shapes() {
  const char* cut_signature = "Tensor self, int|int[] indices_or_sections";
  return {
      {"torch.meshgrid", PythonSignature("Tensor[] tensors, *, str indexing='ij'"),
       [](PythonCall& call) -> PythonValue {
         return grids(call.tensors("tensors"), call.text("indexing"));
       }},
      {"torch.meshgrid", PythonSignature("Tensor a, Tensor b, *, str indexing='ij'"),
       [](PythonCall& call) -> PythonValue {
         return grids({call.tensor("a"), call.tensor("b")}, call.text("indexing"));
       }},
      {"torch.nn.functional.pixel_shuffle torch.pixel_shuffle aten.pixel_shuffle.default",
       PythonSignature("Tensor self, int upscale_factor"),
       [](PythonCall& call) -> PythonValue {
         return shuffled_pixels(call.tensor("self"), call.integer("upscale_factor"));
       }},
      {"torch.cartesian_prod", PythonSignature("Tensor a, Tensor b"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> columns = grids({call.tensor("a"), call.tensor("b")}, "ij");
         for (Tensor& column : columns) column = flatten(column);
         return stack(columns, 1);
       }},
      {"torch.dstack aten.dstack.default", PythonSignature("Tensor[] tensors"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> tensors = call.tensors("tensors");
         for (Tensor& tensor : tensors) tensor = at_least_three_dims(tensor);
         return cat(tensors, 2);
       }},
      {"torch.column_stack aten.column_stack.default", PythonSignature("Tensor[] tensors"),
       [](PythonCall& call) -> PythonValue {
         std::vector<Tensor> tensors = call.tensors("tensors");
         for (Tensor& tensor : tensors)
           if (tensor.dim() <= 1) tensor = view(tensor, {tensor.numel(), 1});
         return cat(tensors, 1);
       }},
      {everywhere("hsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue {
         return cut_evenly(call, "torch.hsplit", call.tensor("self").dim() == 1 ? 0 : 1);
       }},
      {everywhere("vsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue { return cut_evenly(call, "torch.vsplit", 0); }},
      {everywhere("dsplit", "int array"), PythonSignature(cut_signature),
       [](PythonCall& call) -> PythonValue { return cut_evenly(call, "torch.dsplit", 2); }},
      {everywhere("diag"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return diag(call.tensor("self"), call.integer("diagonal"));
       }},
      {everywhere("diag_embed"), PythonSignature("Tensor self, int offset=0"),
       [](PythonCall& call) -> PythonValue {
         return diag_embed(call.tensor("self"), call.integer("offset"));
       }},
      {everywhere("trapezoid", "dx") + " torch.trapz",
       PythonSignature("Tensor self, *, Scalar dx=1, int dim=-1"),
       [](PythonCall& call) -> PythonValue {
         Tensor y = call.tensor("self");
         std::int64_t dim = call.integer("dim");
         Tensor ends = mul(add(select(y, dim, 0), select(y, dim, -1)), 0.5);
         return mul(sub(sum(y, dim), ends), call.number("dx"));
       }},
  };
}

const PythonFamily family_of_composed_shapes(composed_shapes);

}  // namespace

}  // namespace simmesh
