#include "collectives/output_check.h"

#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor/chunk.h"

namespace simmesh {

namespace {

constexpr std::int64_t open_size = -1;  // depends on other members

// Expected is the type of a result, as far as its member knows it from its own call. A result
// without a shape has the type of another member's operand.
struct Expected {
  std::optional<std::size_t> like;  // the operand with the result's dtype
  std::optional<Shape> shape;
};

Shape gathered_shape(const CollectiveCall& call, const Tensor& input, std::int64_t members) {
  Shape shape = input.shape();
  std::int64_t& size = shape[std::size_t(call.dim)];
  size = call.uneven ? open_size : size * members;
  return shape;
}

Shape scattered_shape(const CollectiveCall& call, const Tensor& input, const Caller& caller) {
  Shape shape = input.shape();
  std::int64_t& size = shape[std::size_t(call.dim)];
  size = chunk_of({size, std::int64_t(caller.group.size()), std::int64_t(caller.member)}).length;
  return shape;
}

Shape exchanged_shape(const CollectiveCall& call, const Tensor& input, const Caller& caller) {
  std::int64_t members = std::int64_t(caller.group.size());
  Shape shape = input.shape();
  std::int64_t& cut = shape[std::size_t(call.scatter_dim)];
  std::int64_t& joined = shape[std::size_t(call.dim)];
  if (!call.output_splits.empty()) {
    joined = std::accumulate(call.output_splits.begin(), call.output_splits.end(), std::int64_t(0));
    return shape;
  }
  cut = chunk_of({cut, members, std::int64_t(caller.member)}).length;
  joined = call.uneven ? open_size : joined * members;
  return shape;
}

// Returns a list of one result for each member, of which the caller knows its own.
std::vector<Expected> listed(const Caller& caller, std::size_t own_operand, const Shape& own) {
  std::vector<Expected> results(caller.group.size(), {.like = own_operand});
  results[caller.member].shape = own;
  return results;
}

std::vector<Expected> expected_results(const CollectiveCall& call, const Caller& caller) {
  bool is_root = call.root == std::int64_t(caller.member);
  std::vector<Expected> results;
  auto for_each_input = [&](auto&& shape_of) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      results.push_back({.like = i, .shape = shape_of(call.inputs[i])});
    return results;
  };
  auto same = [](const Tensor& input) { return input.shape(); };
  switch (call.op) {
    case CollectiveOp::barrier: return {};
    case CollectiveOp::all_reduce:
    case CollectiveOp::broadcast: return for_each_input(same);
    case CollectiveOp::reduce:
      if (!is_root) return {};
      return for_each_input(same);
    case CollectiveOp::all_gather:
      return for_each_input([&](const Tensor& input) {
        return gathered_shape(call, input, std::int64_t(caller.group.size()));
      });
    case CollectiveOp::reduce_scatter:
      return for_each_input(
          [&](const Tensor& input) { return scattered_shape(call, input, caller); });
    case CollectiveOp::all_to_all:
      return for_each_input(
          [&](const Tensor& input) { return exchanged_shape(call, input, caller); });
    case CollectiveOp::all_gather_list: return listed(caller, 0, call.inputs[0].shape());
    case CollectiveOp::gather:
      if (!is_root) return {};
      return listed(caller, 0, call.inputs[0].shape());
    case CollectiveOp::all_to_all_list:
      return listed(caller, caller.member, call.inputs[caller.member].shape());
    case CollectiveOp::scatter:
      if (!is_root) return {Expected{}};
      return {{.like = caller.member, .shape = call.inputs[caller.member].shape()}};
    case CollectiveOp::broadcast_object: return {Expected{}};
  }
  return results;
}

bool fits(const Shape& expected, const Shape& got) {
  if (expected.size() != got.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (expected[i] != open_size && expected[i] != got[i]) return false;
  return true;
}

std::string in_words(const Shape& shape) {
  std::string text = to_string(DimSpan(shape));
  std::size_t open = text.find("-1");
  return open == std::string::npos ? text : text.replace(open, 2, "any");
}

std::string_view dtype_word(const HostArray& array) {
  return array.host_dtype ? array.host_dtype : to_string(array.dtype);
}

bool have_one_type(const HostArray& a, const HostArray& b) {
  return dtype_word(a) == dtype_word(b) && numel(a.shape) == numel(b.shape);
}

// Returns the operand that one member gives another in a collective of lists, and the output of the
// other that takes it; nulls where it gives none.
struct Given {
  const HostArray* operand = nullptr;
  const HostArray* output = nullptr;
};
Given given(const CollectiveCall& call, const MemberMemory& from, const MemberMemory& to) {
  auto root = std::size_t(call.root);
  const auto& operands = from.memory.operands();
  const auto& outputs = to.memory.results();
  switch (call.op) {
    case CollectiveOp::all_gather_list: return {&operands[0], &outputs[from.member]};
    case CollectiveOp::gather:
      if (to.member != root) return {};
      return {&operands[0], &outputs[from.member]};
    case CollectiveOp::scatter:
      if (from.member != root) return {};
      return {&operands[to.member], &outputs[0]};
    case CollectiveOp::all_to_all_list: return {&operands[to.member], &outputs[from.member]};
    case CollectiveOp::barrier:
    case CollectiveOp::all_reduce:
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object:
    case CollectiveOp::reduce:
    case CollectiveOp::all_to_all: return {};
  }
  return {};
}

}  // namespace

void check_output(const Tensor& output, const CollectiveCall& call, const Caller& caller) {
  bool is_alike = call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::broadcast;
  if (is_alike && !call.inputs.empty() && call.inputs[0].dtype() == output.dtype() &&
      call.inputs[0].shape() == output.shape()) [[likely]]
    return;
  std::vector<Expected> results = expected_results(call, caller);
  if (results.empty() || !results[0].shape) return;
  DType dtype = call.inputs[*results[0].like].dtype();
  bool is_dtype = output.dtype() == dtype;
  if (is_dtype && fits(*results[0].shape, output.shape())) return;
  refuse_call(is_dtype ? ErrorKind::value_error : ErrorKind::type_error, call, caller,
              fmt::format("expected an output of {}{}, got {}{}", to_string(dtype),
                          in_words(*results[0].shape), to_string(output.dtype()),
                          to_string(DimSpan(output.shape()))));
}

void check_outputs(const HostMemory& memory, const CollectiveCall& call, const Caller& caller) {
  if (call.uneven)
    refuse_call(ErrorKind::value_error, call, caller, "expected even pieces or splits, got uneven");
  std::vector<Expected> results = expected_results(call, caller);
  const std::vector<HostArray>& outputs = memory.results();
  if (outputs.size() != results.size())
    refuse_call(ErrorKind::value_error, call, caller,
                fmt::format("expected {} output tensors, got {}", results.size(), outputs.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].like) continue;
    const HostArray& like = memory.operands()[*results[i].like];
    bool is_dtype = dtype_word(outputs[i]) == dtype_word(like);
    std::int64_t count = results[i].shape ? numel(*results[i].shape) : numel(outputs[i].shape);
    if (is_dtype && numel(outputs[i].shape) == count) continue;
    std::string which = results.size() == 1 ? "an output" : fmt::format("output {} to be", i);
    refuse_call(is_dtype ? ErrorKind::value_error : ErrorKind::type_error, call, caller,
                fmt::format("expected {} of {} elements of {}, got {}", which, count,
                            dtype_word(like), to_string(outputs[i])));
  }
}

std::string disagreement_on_outputs(const CollectiveCall& call, const MemberMemory& a,
                                    const MemberMemory& b) {
  for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    Given pair = given(call, *from, *to);
    if (pair.operand && !have_one_type(*pair.operand, *pair.output))
      return fmt::format("member {} gives {} to member {}, whose output for it is {}", from->member,
                         to_string(*pair.operand), to->member, to_string(*pair.output));
  }
  return {};
}

}  // namespace simmesh
