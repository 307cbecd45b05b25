#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check/error.h"
#include "core/tensor/shape.h"
#include "sharding/paddle/dist_attr.h"
#include "sharding/paddle/mesh_dim_fallback.h"

namespace simmesh::paddle {

// SpmdTensor is the part of a tensor that a sharding rule knows.
struct SpmdTensor {
  Shape shape;
  DistAttr attr;
};

// SpmdArgument is an argument of an op: a tensor, or a list of them.
struct SpmdArgument {
  SpmdArgument(SpmdTensor tensor) : tensors{std::move(tensor)} {}  // NOLINT: a tensor is one
  SpmdArgument(std::vector<SpmdTensor> list) : tensors(std::move(list)), is_list(true) {}  // NOLINT

  std::vector<SpmdTensor> tensors;
  bool is_list = false;
};

// SpmdAttribute is an argument of an op that is no tensor.
using SpmdAttribute =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

// SpmdCall is the call of an op that a rule gets: its tensors with the caller's layouts, and its
// attributes in the order of the rule's signature.
//
//   paddle::SpmdTensor cut{.shape = {8, 16}, .attr = {.dims_mapping = {{0}, {}}}};
//   paddle::SpmdTensor whole{.shape = {16, 4}, .attr = paddle::DistAttr::replicated(2)};
//   paddle::SpmdCall call{.op = "matmul", .mesh_shape = {2, 2},
//                         .inputs = {cut, whole}, .attributes = {false, false}};
//
// The accessors raise a ValueError that names the op where an argument is missing or of another
// type.
struct SpmdCall {
  std::string op;
  Dims mesh_shape;
  std::vector<SpmdArgument> inputs;
  std::vector<SpmdAttribute> attributes = {};

  // tensor returns an argument that is one tensor, tensors one that is a list.
  const SpmdTensor& tensor(std::size_t index) const;
  const std::vector<SpmdTensor>& tensors(std::size_t index) const;

  // These return an attribute, by its place, as a value of that type. integers also takes one
  // integer for a list of one.
  bool boolean(std::size_t index) const;
  std::int64_t integer(std::size_t index) const;
  std::string text(std::size_t index) const;
  std::vector<std::int64_t> integers(std::size_t index) const;

  // single returns the layout of a tensor with at most one mesh dim a tensor dim, -1 for none, for
  // rules without co-shards.
  Dims single(const SpmdTensor& tensor) const {
    return one_mesh_dim(tensor.attr.dims_mapping, mesh_shape).dims_mapping;
  }
  // require_dims raises a ValueError where a tensor has fewer dims than that.
  void require_dims(const SpmdTensor& tensor, std::size_t least) const;
  // dim_of returns a tensor dim counted from the front. Raises an IndexError for one outside.
  std::size_t dim_of(std::int64_t dim, std::size_t dims) const;
};

// SpmdLayout is the layout of an argument or an output.
struct SpmdLayout {
  SpmdLayout(DistAttr attr) : attrs{std::move(attr)} {}                              // NOLINT
  SpmdLayout(std::vector<DistAttr> list) : attrs(std::move(list)), is_list(true) {}  // NOLINT

  std::vector<DistAttr> attrs;
  bool is_list = false;

  bool operator==(const SpmdLayout&) const = default;
};

// SpmdAnswer is the result of a rule: the layouts that the op needs for its inputs, and those of
// its outputs. The reshard before the op is the difference between the inputs' layouts and the
// needed ones.
struct SpmdAnswer {
  std::vector<SpmdLayout> inputs;
  std::vector<SpmdLayout> outputs;

  bool operator==(const SpmdAnswer&) const = default;
};

// attr_of returns the layout of a rule for one mesh dim a tensor dim: -1 for none.
DistAttr attr_of(DimSpan single);

// refuse raises the error of a rule that has no answer: a NotImplementedError ("Unimplemented"), or
// a ValueError ("InvalidArgument"), with Paddle's word before the message.
template <class... Args>
[[noreturn]] void refuse_unimplemented(const SpmdCall& call, fmt::format_string<Args...> format,
                                       Args&&... args) {
  raise(ErrorKind::not_implemented_error, "sharding/paddle", "{}: (Unimplemented) {}", call.op,
        fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void refuse_argument(const SpmdCall& call, fmt::format_string<Args...> format,
                                  Args&&... args) {
  raise(ErrorKind::value_error, "sharding/paddle", "{}: (InvalidArgument) {}", call.op,
        fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace simmesh::paddle
