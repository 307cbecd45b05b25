#include "checkpoint/torch_file/pickle_json.h"

#include <map>
#include <set>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/library_values.h"
#include "checkpoint/torch_file/numpy_values.h"
#include "checkpoint/torch_file/utf8.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

constexpr int pickle_nesting_max = 64;

// TooLarge is raised where a value would be much larger than its pickle.
struct TooLarge {};

// JsonMaker makes JSON of bounded size: a value that several values share is written once for each,
// and those may be shared too.
class JsonMaker {
 public:
  // `levels` counts the lists and objects around the value.
  JsonValue made(PickleValue value, int levels) {
    if (levels > pickle_nesting_max) return opaque_value("a value that is nested too deeply");
    count(value);
    switch (value->kind) {
      case Kind::none: return {};
      case Kind::boolean: return JsonValue(value->flag);
      case Kind::integer: return JsonValue(value->integer);
      case Kind::wide_integer: return tagged("$integer", value->text);
      case Kind::number: return JsonValue(value->number);
      case Kind::text: return JsonValue(with_replacements(value->text));
      case Kind::bytes: return tagged("$bytes", hexadecimal_text(value->text));
      case Kind::list:
      case Kind::tuple:
      case Kind::set: return list_of(value->items, levels);
      case Kind::dict: return dict_of(value->items, levels);
      case Kind::global:
      case Kind::object: return object_of(value, levels);
      case Kind::persistent: return opaque_value("a persistent id");
    }
    return {};
  }

 private:
  JsonValue list_of(const std::vector<PickleValue>& items, int levels) {
    JsonValue::List list;
    list.reserve(items.size());
    for (PickleValue item : items) list.push_back(made(item, levels + 1));
    return {std::move(list)};
  }

  JsonValue dict_of(const std::vector<PickleValue>& items, int levels) {
    std::map<std::string_view, std::size_t> places;
    bool has_texts = true;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      has_texts = has_texts && items[i]->kind == Kind::text;
      if (has_texts) places[items[i]->text] = i;
    }
    if (!has_texts) return pairs_of(items, levels);
    JsonValue::Object object;
    object.reserve(places.size());
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const std::string& key = items[i]->text;
      // As in Python, the last one of several values under a key counts.
      if (places.at(key) != i) continue;
      count(items[i]);
      bool looks_tagged = places.size() == 1 && key.starts_with('$');
      object.emplace_back((looks_tagged ? "$" : "") + with_replacements(key),
                          made(items[i + 1], levels + 1));
    }
    return {std::move(object)};
  }

  JsonValue pairs_of(const std::vector<PickleValue>& items, int levels) {
    JsonValue::List pairs;
    pairs.reserve(items.size() / 2);
    for (std::size_t i = 0; i < items.size(); i += 2) {
      JsonValue::List pair;
      pair.reserve(2);
      pair.push_back(made(items[i], levels + 3));
      pair.push_back(made(items[i + 1], levels + 3));
      pairs.emplace_back(std::move(pair));
    }
    return tagged("$dict", std::move(pairs));
  }

  JsonValue object_of(PickleValue value, int levels) {
    std::string name = with_replacements(class_of(value));
    if (value->kind == Kind::global) {
      auto known = library_global(name);
      return known ? JsonValue(*known) : opaque_value(name);
    }
    if (is_namespace(value)) return made(value->items[2], levels);
    MakeValue make = [&](PickleValue part) { return made(part, levels + 3); };
    if (auto known = library_value(value, make)) return std::move(*known);
    if (auto known = numpy_value(value, make)) return std::move(*known);
    const std::vector<PickleValue>& arguments = value->items[1]->items;
    bool has_plain_value = value->items.size() == 2 && arguments.size() == 1 &&
                           value->items[0]->kind == Kind::global &&
                           arguments[0]->kind <= Kind::bytes && arguments[0]->kind != Kind::none;
    if (!has_plain_value) return opaque_value(name);
    JsonValue::Object instance;
    instance.emplace_back("class", name);
    instance.emplace_back("value", made(arguments[0], levels + 2));
    return tagged("$instance", std::move(instance));
  }

  static bool is_namespace(PickleValue value) {
    std::string name = class_of(value);
    return (name == "argparse.Namespace" || name == "types.SimpleNamespace") &&
           value->items.size() == 3 && value->items[2]->kind == Kind::dict;
  }

  // A value that comes for the first time is no larger than the pickle.
  void count(PickleValue value) {
    std::size_t size = value->items.size() + value->text.size();
    if (size == 0 || seen_.insert(value).second)
      first_ += size;
    else if ((again_ += size) > again_min + again_for_each * first_)
      throw TooLarge();
  }

  static constexpr std::size_t again_min = 1 << 14, again_for_each = 64;
  std::set<PickleValue> seen_;
  std::size_t first_ = 0, again_ = 0;
};

}  // namespace

JsonValue json_of(PickleValue value) {
  try {
    return JsonMaker().made(value, 0);
  } catch (const TooLarge&) {
    return opaque_value("a value that is much larger than its pickle");
  }
}

}  // namespace simmesh::checkpoint
