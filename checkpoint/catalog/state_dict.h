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

// FlatShard is a range of a tensor's elements, as ZeRO's ranks hold them: as many values, and the
// shape of the tensor.
struct FlatShard {
  Tensor values;
  Shape shape;
  FlatRange range;
};

// StateDict is what is saved and loaded: values by name, in order. A tensor may be plain, and then
// every rank has all of it; or distributed, with any placement but a partial one; or flat shards. A
// value that is no tensor is one of JSON. Every rank lists the same names, or only those of which
// it has a part. Tensors alias those of a model: what is loaded arrives there.
//
//   checkpoint::StateDict state;
//   state.add("model.weight", zeros({4, 4}, DType::float32));
//   state.add("step", 10);
//   state.number("step");   // 10
class StateDict {
 public:
  using Value = std::variant<Tensor, FlatShard, JsonValue>;
  // What is done with a value that is no tensor, once it is loaded.
  using OnLoad = std::function<void(const JsonValue& value)>;

  // Entry is a value under its name.
  struct Entry {
    std::string name;
    Value value;
    OnLoad on_load = {};
  };

  StateDict() = default;
  // Every entry of a module's state dict, under the prefix.
  explicit StateDict(const nn::StateDict& tensors, const std::string& prefix = "");

  // add appends a value. Raises a ValueError for a name that is there.
  void add(const std::string& name, Tensor tensor);
  void add(const std::string& name, FlatShard shard);
  void add(const std::string& name, JsonValue value, OnLoad on_load = {});
  void add(const std::string& name, std::int64_t value) { add(name, JsonValue::of(value)); }
  void add(const std::string& name, int value) { add(name, std::int64_t(value)); }
  void add(const std::string& name, double value) { add(name, JsonValue::of(value)); }
  void add(const std::string& name, const char* value) { add(name, JsonValue::of(value)); }

  const std::vector<Entry>& entries() const { return entries_; }
  // set_loaded gives a value that is no tensor, and is there, what was loaded for it.
  void set_loaded(const std::string& name, const JsonValue& value);
  // find returns the value of a name, null where there is none; number what was added as an
  // integer, and raises a KeyError where that isn't there.
  const Value* find(const std::string& name) const;
  std::int64_t number(const std::string& name) const;

 private:
  void append(const std::string& name, Value value, OnLoad on_load = {});

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace simmesh::checkpoint
