#include "core/ops/kernels/pointwise_op.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <memory>

#include "core/check/error.h"
#include "core/ops/promotion.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

// Elements of a chunk: they stay in the first-level cache.
constexpr std::size_t chunk_max = 1024;
constexpr std::size_t operands_max = std::tuple_size_v<decltype(PointwiseChunk::operands)>;

template <class F>
decltype(auto) visit_compute_type(ComputeType type, F&& f) {
  switch (type) {
    case ComputeType::float32: return f(float{});
    case ComputeType::float64: return f(double{});
    case ComputeType::int64: break;
  }
  return f(std::int64_t{});
}

struct Elements {
  const std::byte* data;
  std::int64_t stride;
  std::size_t count;
};
using Load = void (*)(const Elements& elements, std::byte* out);
using Store = void (*)(const std::byte* values, std::byte* out, std::size_t count);

template <class T, class C>
void load(const Elements& elements, std::byte* out) {
  const T* from = reinterpret_cast<const T*>(elements.data);
  C* to = reinterpret_cast<C*>(out);
  auto convert = [](T x) {
    if constexpr (is_16_bit<T>)
      return static_cast<C>(static_cast<float>(x));
    else
      return static_cast<C>(x);
  };
  if (elements.stride == 1) {
    for (std::size_t i = 0; i < elements.count; ++i) to[i] = convert(from[i]);
  } else {
    for (std::size_t i = 0; i < elements.count; ++i)
      to[i] = convert(from[std::int64_t(i) * elements.stride]);
  }
}

template <class T, class C>
void store(const std::byte* values, std::byte* out, std::size_t count) {
  const C* from = reinterpret_cast<const C*>(values);
  T* to = reinterpret_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>)
      to[i] = from[i] != C(0);
    else if constexpr (is_16_bit<T> && std::is_same_v<C, double>)
      to[i] = rounded_to<T>(from[i]);
    else if constexpr (is_16_bit<T>)
      to[i] = T(static_cast<float>(from[i]));
    else
      to[i] = static_cast<T>(from[i]);
  }
}

Load load_of(DType dtype, ComputeType type) {
  return visit_dtype(dtype, [&]<class T>(T) {
    return visit_compute_type(type, []<class C>(C) -> Load { return load<T, C>; });
  });
}
Store store_of(DType dtype, ComputeType type) {
  return visit_dtype(dtype, [&]<class T>(T) {
    return visit_compute_type(type, []<class C>(C) -> Store { return store<T, C>; });
  });
}

DType dtype_of_type(ComputeType type) {
  return visit_compute_type(type, []<class C>(C) { return dtype_of<C>; });
}

// OperandReader returns the elements of one operand in the row-major order of the result, in the
// compute type: directly from memory where they are so already, else through a buffer.
class OperandReader {
 public:
  OperandReader(const PointwiseOperand& operand, ComputeType type, const Tensor& out)
      : width_(bytes_per_element(dtype_of_type(type))),
        chunk_(std::min(chunk_max, std::size_t(out.numel()))) {
    if (!operand.tensor.is_defined()) {
      visit_compute_type(type, [&]<class C>(C) {
        std::fill_n(reinterpret_cast<C*>(constants()), chunk_, operand.number.as<C>());
      });
    } else if (operand.tensor.numel() == 1) {
      const Tensor& value = operand.tensor;
      load_of(value.dtype(), type)({value.data(), 0, chunk_}, constants());
    } else {
      read(operand.tensor, type, out.shape());
    }
  }

  const std::byte* next(std::size_t count) {
    if (constants_) return constants_;
    if (direct_) {
      const std::byte* begin = data_;
      data_ += count * width_;
      return begin;
    }
    std::byte* out = buffer_.get();
    for (std::size_t left = count; left > 0;) {
      std::size_t run = std::min(left, std::size_t(sizes_.back() - index_.back()));
      load_({data_ + offset_ * element_bytes_, strides_.back(), run}, out);
      out += run * width_;
      left -= run;
      advance(std::int64_t(run));
    }
    return buffer_.get();
  }

 private:
  // Returns the memory for a chunk of equal elements; a small chunk needs no allocation.
  std::byte* constants() {
    constants_ = few_constants_.data();
    if (chunk_ * width_ > few_constants_.size()) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(chunk_ * width_);
      constants_ = buffer_.get();
    }
    return constants_;
  }

  void read(const Tensor& tensor, ComputeType type, const Shape& shape) {
    data_ = tensor.data();
    direct_ =
        tensor.dtype() == dtype_of_type(type) && tensor.shape() == shape && tensor.is_contiguous();
    if (direct_) return;
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(chunk_ * width_);
    load_ = load_of(tensor.dtype(), type);
    element_bytes_ = std::int64_t(bytes_per_element(tensor.dtype()));
    std::size_t added = shape.size() - tensor.shape().size();
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      bool is_broadcast = dim < added || tensor.shape()[dim - added] == 1;
      append(shape[dim], is_broadcast ? 0 : tensor.strides()[dim - added]);
    }
    if (sizes_.empty()) append_dim(1, 0);
    index_.resize(sizes_.size());
  }

  // A dim joins the one before it where one stride walks both.
  void append(std::int64_t size, std::int64_t stride) {
    if (size == 1) return;
    if (!sizes_.empty() && strides_.back() == size * stride) {
      sizes_.back() *= size;
      strides_.back() = stride;
    } else {
      append_dim(size, stride);
    }
  }
  void append_dim(std::int64_t size, std::int64_t stride) {
    sizes_.push_back(size);
    strides_.push_back(stride);
  }

  void advance(std::int64_t run) {
    std::size_t dim = sizes_.size() - 1;
    index_[dim] += run;
    offset_ += run * strides_[dim];
    while (index_[dim] == sizes_[dim] && dim > 0) {
      offset_ -= sizes_[dim] * strides_[dim];
      index_[dim] = 0;
      --dim;
      ++index_[dim];
      offset_ += strides_[dim];
    }
  }

  std::size_t width_;
  std::size_t chunk_;
  bool direct_ = false;
  std::byte* constants_ = nullptr;  // null for an operand that isn't constant
  std::unique_ptr<std::byte[]> buffer_;
  const std::byte* data_ = nullptr;
  Load load_ = nullptr;
  std::int64_t element_bytes_ = 0;
  std::int64_t offset_ = 0;
  Dims sizes_, strides_, index_;
  alignas(16) std::array<std::byte, 256> few_constants_;
};

void take(Promotion& promotion, const Tensor& tensor) {
  promotion.take(tensor.dtype(), !tensor.shape().empty());
}
void take(Promotion& promotion, const TensorType& type) {
  promotion.take(type.dtype, !type.shape.empty());
}

bool is_given(const Tensor& tensor) { return tensor.is_defined(); }
bool is_given(const TensorType& type) { return type.is_defined; }

// Returns the common dtype of the promoting operands. Inputs are tensors or their types.
template <class Input>
DType common_dtype(const std::vector<PointwiseSlot>& slots, gsl::span<const Input> inputs,
                   const Attributes& attributes) {
  Promotion promotion;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].promotes) continue;
    if (i < inputs.size() && is_given(inputs[i]))
      take(promotion, inputs[i]);
    else if (auto number = attributes.number_in(slots[i].number))
      promotion.take(*number);
  }
  return promotion.result();
}

template <class Input>
DType operand_dtype(const PointwiseOp& op, gsl::span<const Input> inputs,
                    const Attributes& attributes) {
  DType common = common_dtype(op.slots, inputs, attributes);
  bool widens = op.result == PointwiseResult::floating && !is_floating_point(common);
  return widens ? DType::float32 : common;
}

// Returns an operand as it is read: tensors with dims in the common dtype, as in PyTorch. One
// without dims is rounded to a 16-bit dtype only before a comparison, not before arithmetic.
PointwiseOperand operand_of(const Tensor& tensor, DType common, bool compares) {
  bool is_scalar = tensor.shape().empty() && is_floating_point(common) && !compares;
  bool loads_as_common = common == DType::float64 || common == DType::float32 ||
                         common == DType::int64 || tensor.dtype() == common;
  return {is_scalar || loads_as_common ? tensor : converted(tensor, common)};
}

PointwiseOperand operand_of(const Number& number, DType common, bool compares) {
  bool rounds = compares && bytes_per_element(common) == 2;
  if (!rounds) return {Tensor(), number};
  return {converted(full({}, DType::float64, number.as<double>()), common)};
}

// Computes an op of few elements, as small programs use, whose operands are numbers or are stored
// as the loop reads them: it converts nothing and allocates nothing. Returns false for other
// operands.
bool compute_directly(const PointwiseOp& op, gsl::span<const Tensor> inputs,
                      const Attributes& attributes, ComputeType type, Tensor& out) {
  constexpr std::size_t number_bytes_max = 256;
  DType dtype = dtype_of_type(type);
  PointwiseChunk chunk{.count = std::size_t(out.numel())};
  if (out.dtype() != dtype || chunk.count == 0 ||
      chunk.count * bytes_per_element(dtype) > number_bytes_max)
    return false;
  alignas(16) std::array<std::array<std::byte, number_bytes_max>, operands_max> numbers;
  for (std::size_t i = 0; i < op.slots.size(); ++i) {
    const PointwiseSlot& slot = op.slots[i];
    if (i < inputs.size() && inputs[i].is_defined()) {
      const Tensor& input = inputs[i];
      // The result is contiguous, so an operand with the same strides is read in the same order.
      if (input.dtype() != dtype || input.shape() != out.shape() ||
          input.strides() != out.strides())
        return false;
      chunk.operands[i] = input.data();
      continue;
    }
    auto number = attributes.number_in(slot.number);
    if (!number) number = slot.otherwise;
    if (!number) return false;
    visit_compute_type(type, [&]<class C>(C) {
      std::fill_n(reinterpret_cast<C*>(numbers[i].data()), chunk.count, number->as<C>());
    });
    chunk.operands[i] = numbers[i].data();
  }
  chunk.result = out.mutable_data();
  op.loops(type, attributes)(chunk);
  return true;
}

}  // namespace

ComputeType compute_type_of(DType dtype) {
  if (dtype == DType::float64) return ComputeType::float64;
  return is_floating_point(dtype) ? ComputeType::float32 : ComputeType::int64;
}

void compute_pointwise(const PointwiseRequest& request, Tensor& out) {
  auto left = std::size_t(out.numel());
  if (left == 0) return;
  boost::container::static_vector<OperandReader, operands_max> readers;
  for (const PointwiseOperand& operand : request.operands)
    readers.emplace_back(operand, request.type, out);

  std::size_t width = bytes_per_element(out.dtype());
  bool direct = out.dtype() == dtype_of_type(request.type);
  std::size_t chunk_size = std::min(chunk_max, left);
  std::vector<std::byte> buffer(direct ? 0 : chunk_size * sizeof(double));
  Store store = direct ? nullptr : store_of(out.dtype(), request.type);
  std::byte* target = out.mutable_data();
  while (left > 0) {
    PointwiseChunk chunk{.count = std::min(chunk_size, left)};
    for (std::size_t i = 0; i < readers.size(); ++i)
      chunk.operands[i] = readers[i].next(chunk.count);
    chunk.result = direct ? target : buffer.data();
    request.loop(chunk);
    if (!direct) store(buffer.data(), target, chunk.count);
    target += chunk.count * width;
    left -= chunk.count;
  }
}

Op pointwise_op(PointwiseOp definition) {
  auto op = std::make_shared<const PointwiseOp>(std::move(definition));
  auto shape = [op](gsl::span<const TensorType> inputs, const Attributes& attributes) {
    DType common = operand_dtype(*op, inputs, attributes);
    if (op->check) op->check(common, attributes);
    DType dtype = op->result == PointwiseResult::boolean ? DType::boolean : common;
    return TensorTypes{{broadcast_shapes(inputs), dtype}};
  };
  auto kernel = [op](gsl::span<const Tensor> inputs, const Attributes& attributes,
                     gsl::span<Tensor> outputs) {
    DType common = operand_dtype(*op, inputs, attributes);
    ComputeType type = compute_type_of(common);
    if (op->in_double && type == ComputeType::float32) type = ComputeType::float64;
    if (compute_directly(*op, inputs, attributes, type, outputs[0])) return;
    bool compares = op->result == PointwiseResult::boolean;
    boost::container::static_vector<PointwiseOperand, operands_max> operands;
    for (std::size_t i = 0; i < op->slots.size(); ++i) {
      const PointwiseSlot& slot = op->slots[i];
      if (i < inputs.size() && inputs[i].is_defined()) {
        bool keeps = !slot.promotes && inputs[i].dtype() == DType::boolean;
        operands.push_back(keeps ? PointwiseOperand{inputs[i]}
                                 : operand_of(inputs[i], common, compares));
      } else {
        auto number = attributes.number_in(slot.number);
        SIMMESH_CHECK(number || slot.otherwise, "{} has no operand {}", op->name, slot.number.name);
        operands.push_back(operand_of(number ? *number : *slot.otherwise, common, compares));
      }
    }
    compute_pointwise({.operands = {operands.data(), operands.size()},
                       .type = type,
                       .loop = op->loops(type, attributes)},
                      outputs[0]);
  };
  return {.name = op->name, .shape = shape, .kernel = kernel};
}

PointwiseCheck refuse_floating_point(std::string name) {
  return [name = std::move(name)](DType common, const Attributes&) {
    if (is_floating_point(common))
      raise(ErrorKind::not_implemented_error, name, "\"{}_cpu\" not implemented for '{}'", name,
            to_string(common));
  };
}

}  // namespace simmesh
