#include "core/ops/matrices/products.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/matrix.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

void check_dims(const TensorType& type, std::size_t dims, const char* op, const char* which) {
  if (type.shape.size() != dims)
    raise(ErrorKind::runtime_error, op, "{} must be a {}, got {}D tensor", which,
          dims == 1   ? "vector"
          : dims == 2 ? "matrix"
                      : "batch of matrices (3D tensor)",
          type.shape.size());
}

void check_same_dtype(Types inputs, const char* op) {
  for (const TensorType& type : inputs) {
    if (!type.is_defined) continue;
    if (type.dtype != inputs[0].dtype)
      raise(ErrorKind::runtime_error, op, "expected operands of the same dtype, got {} and {}",
            to_string(inputs[0].dtype), to_string(type.dtype));
    if (type.dtype == DType::boolean)
      raise(ErrorKind::runtime_error, op, "\"{}\" not implemented for 'Bool'", op);
  }
}

void check_depth(const Shape& a, const Shape& b, const char* op) {
  if (a.back() != b[b.size() == 1 ? 0 : b.size() - 2])
    raise(ErrorKind::runtime_error, op, "mat1 and mat2 shapes cannot be multiplied ({} and {})",
          to_string(DimSpan(a)), to_string(DimSpan(b)));
}

TensorTypes mm_type(Types inputs, const char* op) {
  check_dims(inputs[0], 2, op, "self");
  check_dims(inputs[1], 2, op, "mat2");
  check_same_dtype(inputs, op);
  check_depth(inputs[0].shape, inputs[1].shape, op);
  return {{{inputs[0].shape[0], inputs[1].shape[1]}, inputs[0].dtype}};
}

const Op mm_op = {
    .name = "mm",
    .shape = [](Types inputs, const Attributes&) { return mm_type(inputs, "mm"); },
    .kernel = [](Inputs inputs, const Attributes&,
                 gsl::span<Tensor> outputs) { multiply(inputs[0], inputs[1], outputs[0]); },
};

TensorTypes bmm_type(Types inputs, const char* op) {
  check_dims(inputs[0], 3, op, "batch1");
  check_dims(inputs[1], 3, op, "batch2");
  check_same_dtype(inputs, op);
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  if (a[0] != b[0] || a[2] != b[1])
    raise(ErrorKind::runtime_error, op,
          "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: "
          "[{}, {}].",
          a[0], a[2], b[0], b[1]);
  return {{{a[0], a[1], b[2]}, inputs[0].dtype}};
}

const Op bmm_op = {
    .name = "bmm",
    .shape = [](Types inputs, const Attributes&) { return bmm_type(inputs, "bmm"); },
    .kernel = [](Inputs inputs, const Attributes&,
                 gsl::span<Tensor> outputs) { multiply(inputs[0], inputs[1], outputs[0]); },
};

const Op mv_op = {
    .name = "mv",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_dims(inputs[0], 2, "mv", "input");
      check_dims(inputs[1], 1, "mv", "vec");
      check_same_dtype(inputs, "mv");
      check_depth(inputs[0].shape, inputs[1].shape, "mv");
      return {{{inputs[0].shape[0]}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor column = outputs[0].unsqueeze(1);
          multiply(inputs[0], inputs[1].unsqueeze(1), column);
        },
};

const Op dot_op = {
    .name = "dot",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_dims(inputs[0], 1, "dot", "self");
      check_dims(inputs[1], 1, "dot", "tensor");
      check_same_dtype(inputs, "dot");
      if (inputs[0].shape != inputs[1].shape)
        raise(ErrorKind::runtime_error, "dot",
              "inconsistent tensor size, expected tensor {} and src {} to have the same number of "
              "elements",
              to_string(DimSpan(inputs[0].shape)), to_string(DimSpan(inputs[1].shape)));
      return {{{}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor cell = outputs[0].view(Dims{1, 1});
          multiply(inputs[0].unsqueeze(0), inputs[1].unsqueeze(1), cell);
        },
};

void check_addend(const TensorType& addend, const TensorType& result, const char* op) {
  const Shape &from = addend.shape, &to = result.shape;
  bool fits = from.size() <= to.size();
  for (std::size_t i = 1; fits && i <= from.size(); ++i)
    fits = from[from.size() - i] == 1 || from[from.size() - i] == to[to.size() - i];
  if (!fits)
    raise(ErrorKind::runtime_error, op,
          "The expanded size {} must match the existing size {} of the addend",
          to_string(DimSpan(to)), to_string(DimSpan(from)));
}

void add_and_multiply(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  multiply_and_add(inputs[1], inputs[2], {inputs[0], scales_of(attributes)}, outputs[0]);
}

// A BLAS in plain loops adds term after term to the result. But where the right factor is
// transposed, as the weight of a linear layer, it adds up the product of two rows separately.
bool starts_from_addend(const Tensor& b) { return b.strides()[1] == 1; }

void add_and_multiply_matrices(Inputs inputs, const Attributes& attributes,
                               gsl::span<Tensor> outputs) {
  multiply_and_add(inputs[1], inputs[2],
                   {inputs[0], scales_of(attributes), starts_from_addend(inputs[2])}, outputs[0]);
}

const Op addmm_op = {
    .name = "addmm",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_same_dtype(inputs, "addmm");
      TensorTypes types = mm_type(inputs.subspan(1), "addmm");
      check_addend(inputs[0], types[0], "addmm");
      return types;
    },
    .kernel = add_and_multiply_matrices,
};

const Op baddbmm_op = {
    .name = "baddbmm",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_same_dtype(inputs, "baddbmm");
      TensorTypes types = bmm_type(inputs.subspan(1), "baddbmm");
      check_addend(inputs[0], types[0], "baddbmm");
      return types;
    },
    .kernel = add_and_multiply,
};

const Op addmv_op = {
    .name = "addmv",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      const Shape &addend = inputs[0].shape, &matrix = inputs[1].shape, &vector = inputs[2].shape;
      if (matrix.size() != 2 || vector.size() != 1 || addend.size() > 1)
        raise(ErrorKind::runtime_error, "addmv",
              "vector + matrix @ vector expected, got {}, {}, {}", addend.size(), matrix.size(),
              vector.size());
      check_same_dtype(inputs, "addmv");
      std::int64_t terms = addend.empty() ? 1 : addend[0];
      if (matrix[1] != vector[0] || (terms != 1 && terms != matrix[0]))
        raise(ErrorKind::runtime_error, "addmv",
              "size mismatch, got input ({}), mat ({}x{}), vec ({})", terms, matrix[0], matrix[1],
              vector[0]);
      return {{{matrix[0]}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor column = outputs[0].unsqueeze(1), factor = inputs[2].unsqueeze(1);
          multiply_and_add(inputs[1], factor,
                           {inputs[0].unsqueeze(-1), scales_of(attributes), true}, column);
        },
};

TensorTypes linear_type(Types inputs, const Attributes&) {
  const TensorType &x = inputs[0], &weight = inputs[1];
  if (weight.shape.size() != 2 || x.shape.empty())
    raise(ErrorKind::runtime_error, "linear",
          "expected x of at least one dim and a weight of two, got {} and {}",
          to_string(DimSpan(x.shape)), to_string(DimSpan(weight.shape)));
  check_same_dtype(inputs, "linear");
  if (x.shape.back() != weight.shape[1])
    raise(ErrorKind::runtime_error, "linear",
          "mat1 and mat2 shapes cannot be multiplied ({} and {} transposed)",
          to_string(DimSpan(x.shape)), to_string(DimSpan(weight.shape)));
  if (inputs.size() > 2 && inputs[2].is_defined && inputs[2].shape != Shape{weight.shape[0]})
    raise(ErrorKind::runtime_error, "linear", "expected a bias of shape [{}], got {}",
          weight.shape[0], to_string(DimSpan(inputs[2].shape)));
  TensorType result = x;
  result.shape.back() = weight.shape[0];
  return {result};
}

void linear_kernel(Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
  Tensor x = rows_of(inputs[0]), out = rows_of(outputs[0]);
  Tensor weight = inputs[1].transpose(0, 1);
  if (inputs.size() > 2 && inputs[2].is_defined())
    multiply_and_add(x, weight, {inputs[2], {}}, out);
  else
    multiply(x, weight, out);
}

const Op linear_op = {
    .name = "linear",
    .shape = linear_type,
    .kernel = linear_kernel,
};

// Returns a batch of matrices with the leading dims flattened into one.
Tensor batched(const Tensor& x, const Shape& leading) {
  Shape shape = leading;
  shape.push_back(x.size(x.dim() - 2));
  shape.push_back(x.size(x.dim() - 1));
  return reshape(expand(x, shape), {numel(leading), shape.end()[-2], shape.end()[-1]});
}

Shape leading_dims(const Tensor& x) {
  return Shape(x.shape().begin(), x.shape().end() - std::min<std::int64_t>(x.dim(), 2));
}

// Computes matmul of operands of which one has more than two dims.
Tensor matmul_batches(const Tensor& a, const Tensor& b) {
  TensorType types[] = {{leading_dims(a), a.dtype()}, {leading_dims(b), b.dtype()}};
  Shape leading = broadcast_shapes(types);
  Tensor left = a.dim() == 1 ? unsqueeze(a, 0) : a;
  Tensor right = b.dim() == 1 ? unsqueeze(b, 1) : b;
  Shape shape = leading;
  if (a.dim() > 1) shape.push_back(left.size(left.dim() - 2));
  if (b.dim() > 1) shape.push_back(right.size(right.dim() - 1));
  // One matrix on the right multiplies all rows of the left at once, without copies of it.
  if (b.dim() == 1) return reshape(mv(rows_of(left), b), shape);
  if (b.dim() == 2) return reshape(mm(rows_of(left), b), shape);
  // The order is fixed, whatever the compiler: calls are recorded on the tape, and may move pieces.
  Tensor lefts = batched(left, leading), rights = batched(right, leading);
  return reshape(bmm(lefts, rights), shape);
}

// The placements of a distributed product follow from its parts, so these are PyTorch's: a batch of
// one matrix beside a larger batch is that matrix, and a matrix on the left that requires a
// gradient is multiplied from the right.
Tensor matmul_in_parts(const Tensor& a, const Tensor& b) {
  bool is_one = a.dim() == 3 && b.dim() == 3 && a.size(0) != b.size(0);
  if (is_one && a.size(0) == 1) return matmul(squeeze(a, 0), b);
  if (is_one && b.size(0) == 1) return matmul(a, squeeze(b, 0));
  if (b.dim() < 3 || a.dim() > 2 || !a.requires_grad()) return matmul_batches(a, b);
  Tensor turned = transpose(b, -2, -1);
  if (a.dim() == 1) return matmul(turned, a);
  return contiguous(transpose(matmul(turned, t(a)), -2, -1));
}

// For distributed tensors a linear layer is a product, whose factors choose the placements.
Tensor linear_in_parts(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  TensorType types[] = {type_of(x), type_of(weight), type_of(bias)};
  Shape shape = linear_type(types, {})[0].shape;
  Tensor rows = rows_of(x), factors = t(weight);
  Tensor result = bias.is_defined() ? addmm(bias, rows, factors) : mm(rows, factors);
  return x.dim() == 2 ? result : reshape(result, shape);
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) { return call_one(mm_op, {a, b}); }

Tensor bmm(const Tensor& a, const Tensor& b) { return call_one(bmm_op, {a, b}); }

Tensor addmv(const Tensor& addend, const Tensor& matrix, const Tensor& vector,
             const Scales& scales) {
  return call_one(addmv_op, {addend, matrix, vector},
                  {attribute::beta = scales.beta, attribute::alpha = scales.alpha});
}

Tensor mv(const Tensor& matrix, const Tensor& vector) { return call_one(mv_op, {matrix, vector}); }

Tensor dot(const Tensor& a, const Tensor& b) { return call_one(dot_op, {a, b}); }

Tensor outer(const Tensor& a, const Tensor& b) {
  check_dims(type_of(a), 1, "outer", "self");
  check_dims(type_of(b), 1, "outer", "vec2");
  return mul(unsqueeze(a, 1), b);
}

Tensor addmm(const Tensor& addend, const Tensor& a, const Tensor& b, const Scales& scales) {
  return call_one(addmm_op, {addend, a, b},
                  {attribute::beta = scales.beta, attribute::alpha = scales.alpha});
}

Tensor baddbmm(const Tensor& addend, const Tensor& a, const Tensor& b, const Scales& scales) {
  return call_one(baddbmm_op, {addend, a, b},
                  {attribute::beta = scales.beta, attribute::alpha = scales.alpha});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0)
    raise(ErrorKind::runtime_error, "matmul",
          "both arguments to matmul need to be at least 1D, but they are {}D and {}D", a.dim(),
          b.dim());
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(a, b);
  if (a.dim() == 1 && b.dim() == 2) return squeeze(mm(unsqueeze(a, 0), b), 0);
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (a.distribution() || b.distribution()) return matmul_in_parts(a, b);
  return matmul_batches(a, b);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.distribution() || weight.distribution()) return linear_in_parts(x, weight, bias);
  if (bias.is_defined()) return call_one(linear_op, {x, weight, bias});
  return call_one(linear_op, {x, weight});
}

void products_ops(OpList& ops) {
  ops.add({&addmm_op, &addmv_op, &baddbmm_op, &bmm_op, &dot_op, &linear_op, &mm_op, &mv_op});
}

}  // namespace simmesh
