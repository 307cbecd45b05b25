#include "checkpoint/torch_file/pickle_json.h"

#include <set>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr int pickle_nesting_max = 64;

// JsonMaker makes JSON of bounded size: a value that several values share is written once for each,
// and those may be shared too.
class JsonMaker {
 public:
  JsonValue made(PickleValue value, int depth) {
    using Kind = PickleNode::Kind;
    if (depth > pickle_nesting_max)
      raise(ErrorKind::value_error, "checkpoint/pickle",
            "a value is nested too deeply, or holds itself");
    count(value);
    switch (value->kind) {
      case Kind::none: return {};
      case Kind::boolean: return JsonValue(value->flag);
      case Kind::integer: return JsonValue(value->integer);
      case Kind::number: return JsonValue(value->number);
      case Kind::text: return JsonValue(value->text);
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
  // A value that comes for the first time is no larger than the pickle.
  void count(PickleValue value) {
    std::size_t size = value->items.size() + value->text.size();
    if (size == 0 || seen_.insert(value).second) {
      first_ += size;
    } else if ((again_ += size) > again_min + again_for_each * first_) {
      raise(ErrorKind::value_error, "checkpoint/pickle",
            "values that come again make this one much larger than its pickle");
    }
  }

  static constexpr std::size_t again_min = 1 << 14, again_for_each = 64;
  std::set<PickleValue> seen_;
  std::size_t first_ = 0, again_ = 0;
};

}  // namespace

JsonValue json_of(PickleValue value) { return JsonMaker().made(value, 0); }

}  // namespace simmesh::checkpoint
