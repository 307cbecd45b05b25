#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh::typed {

// SpmdType says for one mesh axis what the ranks hold, as the package spmd_types has it. By that it
// also says what their gradients mean: the type of a gradient is the dual.
enum class SpmdType : std::uint8_t {
  replicate,  // R: the same value, used differently on each rank
  invariant,  // I: the same value, of one computation that all ranks do alike
  varying,    // V: different values
  partial,    // P: the terms of a sum that is not done yet
};

// dual returns the type of the gradient: R and P swap, I and V stay.
SpmdType dual(SpmdType type);

// letter_of returns "R", "I", "V" or "P".
std::string_view letter_of(SpmdType type);

// TypeOnAxis is a type where shards are told apart: "S(0)" is varying, and the pieces along the
// axis make the tensor when they are concatenated along dim 0.
struct TypeOnAxis {
  SpmdType type = SpmdType::replicate;
  std::optional<std::int64_t> shard_dim = {};  // of a varying type only

  bool is_shard() const { return shard_dim.has_value(); }
  friend bool operator==(const TypeOnAxis& a, const TypeOnAxis& b) {
    return a.type == b.type && a.shard_dim == b.shard_dim;
  }
};

// parse_type reads "R", "I", "V", "P" or "S(d)" with d of at least 0; nullopt for another text.
std::optional<TypeOnAxis> parse_type(std::string_view text);
// to_string returns the text that parse_type reads.
std::string to_string(const TypeOnAxis& type);

// AxisTypes are the types of a tensor by the name of the mesh axis. An axis that isn't among them
// has no type.
using AxisTypes = std::map<std::string, SpmdType>;

// dual_of returns the types of the gradient.
AxisTypes dual_of(const AxisTypes& types);

// PartitionSpec names for each dim of a tensor the mesh axes that cut it, outermost first.
using PartitionSpec = std::vector<std::vector<std::string>>;

// cut_dim returns the dim that an axis cuts; nullopt where it cuts none.
std::optional<std::int64_t> cut_dim(const PartitionSpec& spec, std::string_view axis);
// cuts_any is true where an axis cuts a dim.
bool cuts_any(const PartitionSpec& spec);
// without returns the spec after an axis no longer cuts any dim.
PartitionSpec without(PartitionSpec spec, std::string_view axis);
// with_cut returns the spec of a tensor of `dims` dims after an axis cuts one of them, innermost.
PartitionSpec with_cut(PartitionSpec spec, std::int64_t dims, std::int64_t dim,
                       const std::string& axis);

// TypedTensor is all that typing knows of a tensor.
struct TypedTensor {
  std::optional<AxisTypes> types = {};  // nullopt where the tensor was never annotated
  PartitionSpec spec = {};              // empty where nothing is cut
  Shape shape = {};
  bool requires_grad = false;

  // type_on returns the type on an axis; nullopt where there is none.
  std::optional<SpmdType> type_on(const std::string& axis) const;
  // full_type_on tells a shard from a varying type.
  std::optional<TypeOnAxis> full_type_on(const std::string& axis) const;
  // set_type sets the type and, for a shard, the cut. With keeps_cut, the cut of before stays.
  void set_type(const std::string& axis, const TypeOnAxis& type, bool keeps_cut = false);
};

// MeshAxis is an axis of the mesh. An axis of size 1 has no types.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
};

// TypingContext is what a call is typed under.
struct TypingContext {
  std::vector<MeshAxis> axes = {};
  bool has_current_mesh = true;  // the mesh is the current one
  bool is_strict = true;         // every operand must have a type on every axis
  bool is_global = false;        // cuts are followed through operations
  bool has_gradients = true;     // gradients are enabled

  // size_of returns the number of ranks along an axis. Raises a KeyError for an unknown name.
  std::int64_t size_of(const std::string& axis) const;
};

}  // namespace simmesh::typed
