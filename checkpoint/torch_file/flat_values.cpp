#include "checkpoint/torch_file/flat_values.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "checkpoint/torch_file/utf8.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

constexpr int nesting_max = 64;

bool is_container(PickleValue value) {
  return value->kind == Kind::list || value->kind == Kind::tuple || value->kind == Kind::set ||
         value->kind == Kind::dict;
}

// TensorFinder remembers which values hold tensors. A value that holds itself isn't looked into
// again.
class TensorFinder {
 public:
  bool holds_tensors(PickleValue value, int depth = 0) {
    if (is_torch_view(value)) return true;
    if (depth > nesting_max || (!is_container(value) && value->kind != Kind::object)) return false;
    auto [known, is_new] = known_.emplace(value, false);
    if (!is_new) return known->second;
    bool holds = std::any_of(value->items.begin(), value->items.end(),
                             [&](PickleValue item) { return holds_tensors(item, depth + 1); });
    return known->second = holds;
  }

 private:
  std::map<PickleValue, bool> known_;
};

class ValueAdder {
 public:
  ValueAdder(Catalog& catalog, const TorchFile& file, const std::string& file_name)
      : catalog_(catalog),
        file_(file),
        file_name_(file_name),
        left_(entries_min + entries_for_each * file.value_count()) {}

  void add(PickleValue value, const std::string& name, int depth) {
    // Values that come again must not make many names out of a small file.
    if (left_-- == 0)
      raise(ErrorKind::value_error, "checkpoint/torch_file",
            "{}: values that come again make many more names than the file has values",
            file_.path());
    if (is_torch_view(value)) return add_tensor(value, name);
    bool is_split = depth == 0 && value->kind == Kind::dict;
    if (depth > nesting_max || (!is_split && !finder_.holds_tensors(value)))
      return add_object(name, json_of(value));
    if (value->kind == Kind::dict) {
      for (std::size_t i = 0; i < value->items.size(); i += 2)
        add(value->items[i + 1], inside(name, key_text(value->items[i])), depth + 1);
    } else if (value->kind == Kind::object) {
      add_object(name.empty() ? "object" : name, opaque_value(with_replacements(class_of(value))));
      if (value->items.size() == 3) add_attributes(value->items[2], name, depth + 1);
    } else {
      for (std::size_t i = 0; i < value->items.size(); ++i)
        add(value->items[i], inside(name, std::to_string(i)), depth + 1);
    }
  }

 private:
  // Adds what has tensors of an object's attributes. Of a module the words of its parts are cut.
  void add_attributes(PickleValue state, const std::string& name, int depth) {
    if (state->kind != Kind::dict || depth > nesting_max) return;
    for (std::size_t i = 0; i < state->items.size(); i += 2) {
      std::string key = key_text(state->items[i]);
      PickleValue value = state->items[i + 1];
      if (!finder_.holds_tensors(value)) continue;
      bool is_part = key == "_parameters" || key == "_buffers" || key == "_modules";
      if (is_part && value->kind == Kind::dict)
        add_parts(value, name, depth + 1);
      else
        add(value, inside(name, key), depth + 1);
    }
  }

  void add_parts(PickleValue parts, const std::string& name, int depth) {
    for (std::size_t i = 0; i < parts->items.size(); i += 2) {
      PickleValue part = parts->items[i + 1];
      if (!finder_.holds_tensors(part)) continue;
      std::string inner = inside(name, key_text(parts->items[i]));
      if (part->kind == Kind::object && !is_torch_view(part) && part->items.size() == 3)
        add_attributes(part->items[2], inner, depth + 1);
      else
        add(part, inner, depth + 1);
    }
  }

  void add_tensor(PickleValue value, const std::string& name) {
    try {
      TorchFile::Place place = file_.place(value);
      StoredTensor tensor = {name.empty() ? "tensor" : name, place.dtype, place.shape, {}};
      tensor.chunks.push_back(place.chunk(file_name_));
      catalog_.tensors.push_back(std::move(tensor));
    } catch (const Error& error) {
      std::string_view why = error.message();
      if (std::string place = file_.name() + ": "; why.starts_with(place))
        why.remove_prefix(place.size());
      add_object(name.empty() ? "tensor" : name,
                 opaque_value(fmt::format("torch.Tensor: {}", why)));
    }
  }

  void add_object(const std::string& name, JsonValue value) {
    catalog_.objects.push_back({name.empty() ? "value" : name, std::move(value), {}});
  }

  static std::string key_text(PickleValue key) {
    return key->kind == Kind::text ? with_replacements(key->text)
                                   : json_of(key).text(key_bytes_max);
  }
  static std::string inside(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }

  static constexpr std::size_t entries_min = 1000, entries_for_each = 16, key_bytes_max = 100;
  Catalog& catalog_;
  const TorchFile& file_;
  const std::string& file_name_;
  TensorFinder finder_;
  std::size_t left_;
};

}  // namespace

bool has_torch_views(PickleValue value) { return TensorFinder().holds_tensors(value); }

void add_values(Catalog& catalog, const TorchFile& file, const std::string& file_name,
                PickleValue value, const std::string& name) {
  ValueAdder(catalog, file, file_name).add(value, name, name.empty() ? 0 : 1);
}

}  // namespace simmesh::checkpoint
