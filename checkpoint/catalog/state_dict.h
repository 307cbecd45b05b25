#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/catalog/flat_range.h"
#include "core/check/json_value.h"
#include "core/nn/module.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// FlatShard is a range of a tensor's elements, as ZeRO's ranks hold them. `values` has the elements
// of the range, and `shape` is that of the tensor.
struct FlatShard {
  Tensor values;
  Shape shape;
  FlatRange range;
};

// StateDict holds the values that are saved and loaded, by name, in order. A tensor may be plain:
// then every rank has all of it. It may be a DTensor with any placements but partial ones, or a
// FlatShard. All other values are JSON. Every rank lists the same names, or only those of which it
// has a part. Tensors alias those of a model, so a load fills the model.
//
//   checkpoint::StateDict state;
//   state.add("model.weight", zeros({4, 4}, DType::float32));
//   state.add("step", 10);
//   state.number("step");   // 10
class StateDict {
 public:
  using Value = std::variant<Tensor, FlatShard, JsonValue>;
  // Takes a value that is no tensor, once it is loaded.
  using OnLoad = std::function<void(const JsonValue& value)>;

  // Entry is a value under its name.
  struct Entry {
    std::string name;
    Value value;
    OnLoad on_load = {};
  };

  StateDict() = default;
  // Adds every entry of a module's state dict, under the prefix.
  explicit StateDict(const nn::StateDict& tensors, const std::string& prefix = "");

  // add appends a value. Raises a ValueError if the name exists.
  void add(const std::string& name, Tensor tensor);
  void add(const std::string& name, FlatShard shard);
  void add(const std::string& name, JsonValue value, OnLoad on_load = {});
  void add(const std::string& name, std::int64_t value) { add(name, JsonValue(value)); }
  void add(const std::string& name, int value) { add(name, std::int64_t(value)); }
  void add(const std::string& name, double value) { add(name, JsonValue(value)); }
  void add(const std::string& name, const char* value) { add(name, JsonValue(value)); }

  const std::vector<Entry>& entries() const { return entries_; }
  // set_loaded sets a value that is no tensor to the loaded one. The name must exist.
  void set_loaded(const std::string& name, const JsonValue& value);
  // find returns the value of a name, null if there is none. number returns a value that was added
  // as an integer, and raises a KeyError if there is none.
  const Value* find(const std::string& name) const;
  std::int64_t number(const std::string& name) const;

 private:
  void append(const std::string& name, Value value, OnLoad on_load = {});

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace simmesh::checkpoint
