#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor/dtype.h"

namespace simmesh::checkpoint {

// Statement maps stored tensors to loaded ones, as in Paddle's flexible checkpoints: names on the
// left, an arrow, names on the right, and options.
//
//   a -> b                                rename
//   a, b -> c, axis=0                     join, in the order written
//   a -> b, c, axis=1                     cut into equal parts; axis=-1 is the last dim
//   a -> b, permute="[1,0]"               dim i of b is dim p[i] of a; "[]" reverses all dims
//   a -> b, dtype="bfloat16"              round to another dtype
//   a -> _      _ -> b                    drop a stored tensor; leave a target as it is
//   q, k, v -> qkv, fused_qkv, num_heads=4, num_key_value_groups=2
//   gate, up -> gate_up, fused_ffn        join (or cut, the other way round) the last dim
//
// "$LAYER_ID" in names stands for each number that stored names have at its place. "*" on the left
// stands for all stored names with a number at its place, ascending. Paddle 3.3 takes no negative
// axis.
struct Statement {
  enum class Form : std::uint8_t { plain, fused_ffn, fused_qkv, fused_qkv_old };

  std::vector<std::string> left, right;
  std::optional<std::int64_t> axis = {};
  std::optional<std::vector<std::int64_t>> permute = {};
  std::optional<DType> dtype = {};
  Form form = Form::plain;
  std::int64_t num_heads = 0, num_key_value_groups = 0;
  std::string text = {};  // as written, for messages
};

// parse_statement reads one statement. Raises a ValueError that shows it, and the place of the
// mistake.
Statement parse_statement(std::string_view text);

}  // namespace simmesh::checkpoint
