#include "collectives/collective_call.h"

#include <fmt/format.h>
#include <numeric>

#include "core/arithmetic/reductions/combine.h"
#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns the dim along which operands may differ in size, -1 where none may. Splits let the rows
// of an all-to-all differ.
std::int64_t free_dim(const CollectiveCall& a, const CollectiveCall& b) {
  bool is_free = a.uneven || !a.input_splits.empty() || !b.input_splits.empty();
  return facts_of(a.op).concatenates && is_free ? a.dim : -1;
}

bool shapes_agree(const Shape& a, const Shape& b, std::int64_t free) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && std::int64_t(i) != free) return false;
  return true;
}

std::string operands_of(const CollectiveCall& call) {
  if (call.inputs.empty()) return "no operand";
  std::string text;
  for (const Tensor& input : call.inputs) {
    text += fmt::format("{}{}{}", text.empty() ? "" : " and ", to_string(input.dtype()),
                        to_string(DimSpan(input.shape())));
    if (text.size() > 200) return text + " and more";
  }
  return text;
}

std::string_view words(const char* text) { return text ? text : ""; }

// CallCheck checks a call by itself, as its member makes it.
struct CallCheck {
  const CollectiveCall& call;
  const Caller& caller;

  template <class... Args>
  [[noreturn]] void refuse(ErrorKind kind, fmt::format_string<Args...> format,
                           Args&&... args) const {
    refuse_call(kind, call, caller, fmt::format(format, std::forward<Args>(args)...));
  }
  std::int64_t members() const { return std::int64_t(caller.group.size()); }

  void check_root() const {
    if (call.root >= 0 && call.root < members()) return;
    refuse(ErrorKind::index_error, "expected a root among {} members, got {}", members(),
           call.root);
  }

  // Raises where a list or a single tensor is asked for and another number of them is there.
  void check_operands() const {
    std::int64_t count = std::int64_t(call.inputs.size());
    bool is_root = call.root == std::int64_t(caller.member);
    bool takes_list =
        call.op == CollectiveOp::all_to_all_list || (call.op == CollectiveOp::scatter && is_root);
    if (takes_list && count != members())
      refuse(ErrorKind::value_error, "expected one tensor a member of {}, got {}", members(),
             count);
    bool takes_one = call.op == CollectiveOp::all_gather_list || call.op == CollectiveOp::gather ||
                     call.op == CollectiveOp::all_to_all ||
                     call.op == CollectiveOp::broadcast_object;
    if (takes_one && count != 1)
      refuse(ErrorKind::value_error, "expected one tensor, got {}", count);
  }

  void check_dim(std::int64_t dim, const Tensor& input) const {
    if (dim >= 0 && dim < input.dim()) return;
    refuse(ErrorKind::index_error,
           "Dimension out of range: expected a dim of a tensor of {} dims, got {}", input.dim(),
           dim);
  }

  void check_division(const Tensor& input, std::int64_t dim) const {
    if (call.uneven || input.size(dim) % members() == 0) return;
    refuse(ErrorKind::assertion_error,
           "input dimension {} ({}) must be a multiple of group_size {}", dim, input.size(dim),
           members());
  }

  void check_splits(DimSpan splits, std::int64_t rows) const {
    std::int64_t total = 0;
    bool negative = false;
    for (std::int64_t split : splits) {
      negative |= split < 0;
      total += split;
    }
    if (std::int64_t(splits.size()) != members() || negative || total != rows)
      refuse(ErrorKind::value_error, "expected {} split sizes that add up to {} rows, got {}",
             members(), rows, to_string(splits));
  }

  void check_reduced(DType dtype) const {
    try {
      check_reduction(call.reduce, dtype);
    } catch (const Error& error) {
      refuse(error.kind(), "{}", error.message());
    }
  }

  void check_all_to_all(const Tensor& input) const {
    check_dim(call.scatter_dim, input);
    if (call.input_splits.empty()) return check_division(input, call.scatter_dim);
    std::int64_t rows_out =
        std::accumulate(call.output_splits.begin(), call.output_splits.end(), std::int64_t(0));
    check_splits(call.input_splits, input.size(call.scatter_dim));
    check_splits(call.output_splits, rows_out);
  }

  void check() const {
    const CollectiveFacts& facts = facts_of(call.op);
    if (facts.has_root) check_root();
    for (const Tensor& input : call.inputs)
      if (!input.is_defined())
        raise(ErrorKind::value_error, "collectives",
              "{} at {}, #{} of group {}: expected a tensor, got an undefined one", facts.name,
              to_string(call.site), caller.number, caller.group.describe());
    check_operands();
    for (const Tensor& input : call.inputs) {
      if (facts.reduces) check_reduced(input.dtype());
      if (facts.takes_dim) check_dim(call.dim, input);
      if (call.op == CollectiveOp::reduce_scatter) check_division(input, call.dim);
      if (call.op == CollectiveOp::all_to_all) check_all_to_all(input);
    }
  }
};

}  // namespace

std::string host_dtypes_of(const CollectiveCall& call) {
  return call.host_dtypes ? fmt::format(" ({})", call.host_dtypes) : "";
}

std::string to_string(const CollectiveCall& call) {
  const CollectiveFacts& facts = facts_of(call.op);
  std::string text = facts.name;
  if (facts.reduces) text += fmt::format("({})", to_string(call.reduce));
  if (facts.has_root) text += fmt::format(" from root {}", call.root);
  if (facts.takes_dim) text += fmt::format(" along dim {}", call.dim);
  if (call.op == CollectiveOp::all_to_all)
    text += fmt::format(" cut along dim {}", call.scatter_dim);
  return text + fmt::format(" of {}{} at {}", operands_of(call), host_dtypes_of(call),
                            to_string(call.site));
}

void refuse_call(ErrorKind kind, const CollectiveCall& call, const Caller& caller,
                 std::string_view message) {
  raise(kind, "collectives", "rank {}: {}, #{} of group {}: {}",
        caller.group.rank_of(caller.member), to_string(call), caller.number,
        caller.group.describe(), message);
}

void check_call(const CollectiveCall& call, const Caller& caller) {
  CallCheck{call, caller}.check();
}

std::string_view disagreement(const CollectiveCall& first, const CollectiveCall& second) {
  if (first.op != second.op) return "the operations differ";
  const CollectiveFacts& facts = facts_of(first.op);
  if (facts.reduces && (first.reduce != second.reduce || first.factor != second.factor))
    return "the reduce operations differ";
  if (facts.has_root && first.root != second.root) return "the roots differ";
  if (facts.takes_dim && (first.dim != second.dim || first.scatter_dim != second.scatter_dim ||
                          first.uneven != second.uneven))
    return "the dims differ";
  if (facts.operands == CollectiveOperands::of_root_alone) return {};
  if (first.inputs.size() != second.inputs.size()) return "the numbers of operands differ";
  if (words(first.host_dtypes) != words(second.host_dtypes)) return "the dtypes differ";
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    const Tensor& a = first.inputs[i];
    const Tensor& b = second.inputs[i];
    if (a.dtype() != b.dtype()) return "the dtypes differ";
    if (facts.operands == CollectiveOperands::of_one_shape &&
        !shapes_agree(a.shape(), b.shape(), free_dim(first, second)))
      return "the shapes differ";
  }
  return {};
}

std::string disagreement_on_splits(const MemberCall& a, const MemberCall& b, std::size_t members) {
  if (a.call.input_splits.empty() && b.call.input_splits.empty()) return {};
  auto equal_part = [&](const CollectiveCall& call) {
    return call.inputs[0].size(call.scatter_dim) / std::int64_t(members);
  };
  std::int64_t sent =
      a.call.input_splits.empty() ? equal_part(a.call) : a.call.input_splits[b.member];
  std::int64_t expected =
      b.call.output_splits.empty() ? equal_part(b.call) : b.call.output_splits[a.member];
  if (sent == expected) return {};
  std::int64_t row = 1;
  const Shape& shape = a.call.inputs[0].shape();
  for (std::size_t dim = 1; dim < shape.size(); ++dim) row *= shape[dim];
  return fmt::format(
      "member {} sends {} rows to member {}, which expects {}: the input split has {} elements, "
      "but the corresponding output split has {} elements",
      a.member, sent, b.member, expected, sent * row, expected * row);
}

}  // namespace simmesh
