#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/tensor/tensor.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// TraceThread is a thread of a trace: PyTorch runs a program on one and its backward passes on
// another.
enum class TraceThread : std::uint8_t { main = 1, backward = 2 };

// The scopes of nodes, as PyTorch numbers them: of a function it is 0.
inline constexpr std::int64_t backward_scope = 1;
inline constexpr std::int64_t user_scope = 7;

// TraceBuilder makes the execution trace of one rank, node by node in the order in which they
// begin. Nodes, tensors and storages take their ids from one counter, as in PyTorch; ids of
// storages are never used again, also where memory is.
class TraceBuilder {
 public:
  // device is the name of the rank's device: "cuda:0".
  explicit TraceBuilder(std::string device);

  ExecutionTrace& trace() { return trace_; }
  TraceNode& node(std::uint32_t index) { return trace_.nodes[index]; }

  // add makes a node below the one that is open on a thread, and returns its index; open also makes
  // it the open one, until close.
  std::uint32_t add(std::string_view name, TraceThread thread);
  std::uint32_t open(std::string_view name, TraceThread thread);
  void close(TraceThread thread);

  // tensors adds tensors, in order. Undefined ones are left out; distributed ones have the logical
  // shape, and no storage. Equal views of one storage are one tensor.
  TraceRange tensors(gsl::span<const Tensor> tensors);
  // flat adds tensors as if each had one dim.
  TraceRange flat(gsl::span<const Tensor> tensors);
  // promised adds future tensors of the given types. bind sets what they have become.
  TraceRange promised(DType dtype, const Shape& shape, std::size_t count = 1);
  void bind(TraceRange promised, gsl::span<const Tensor> tensors);

  // argument returns an argument as JSON.
  TraceArgument argument(std::uint32_t position, std::string_view type, std::string_view json);

  TextId text(std::string_view text) { return trace_.texts.id_of(text); }
  TraceRange numbers(DimSpan numbers);
  std::int64_t next_id() { return next_id_++; }

 private:
  using View = std::tuple<std::int64_t, std::int64_t, DType, Shape, Strides>;

  TraceNode& append(std::string_view name, std::int64_t parent);
  TraceTensor describe(const Tensor& tensor, const Shape& shape, const Strides& strides);
  std::vector<std::uint32_t>& open_nodes(TraceThread thread) {
    return open_[std::size_t(thread) - 1];
  }

  ExecutionTrace trace_;
  std::string device_;
  std::int64_t next_id_ = 1;
  std::int64_t next_record_function_ = 1;
  std::array<std::vector<std::uint32_t>, 2> open_;  // by thread; the last is the innermost
  std::unordered_map<StorageId, std::int64_t> storages_;
  std::map<View, std::int64_t> views_;  // the ids of tensors, by the ids of their storages
};

}  // namespace simmesh::replay
