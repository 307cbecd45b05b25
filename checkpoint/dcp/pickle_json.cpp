#include "checkpoint/dcp/pickle_json.h"

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// A value that is shared may be written many times, each time within one that is shared itself.
class JsonMaker {
 public:
  JsonValue made(PickleValue value, int depth) {
    using Kind = PickleNode::Kind;
    if (depth > 64 || ++values_ > values_max)
      raise(ErrorKind::value_error, "checkpoint/pickle",
            "a value is nested too deeply, or holds itself");
    switch (value->kind) {
      case Kind::none: return {};
      case Kind::boolean: return JsonValue::of(value->flag);
      case Kind::integer: return JsonValue::of(value->integer);
      case Kind::number: return JsonValue::of(value->number);
      case Kind::text: return JsonValue::of(value->text);
      case Kind::list:
      case Kind::tuple: {
        JsonValue::List list;
        for (PickleValue item : value->items) list.push_back(made(item, depth + 1));
        return {std::move(list)};
      }
      case Kind::dict: {
        JsonValue::Object object;
        for (std::size_t i = 0; i < value->items.size(); i += 2)
          object.emplace_back(as_text(value->items[i], "a key"),
                              made(value->items[i + 1], depth + 1));
        return {std::move(object)};
      }
      case Kind::global:
      case Kind::object:
      case Kind::persistent: break;
    }
    raise(ErrorKind::value_error, "checkpoint/pickle",
          "expected numbers, texts, lists and dicts, got an object");
  }

 private:
  static constexpr int values_max = 1 << 20;
  int values_ = 0;
};

}  // namespace

JsonValue json_of(PickleValue value) { return JsonMaker().made(value, 0); }

}  // namespace simmesh::checkpoint
