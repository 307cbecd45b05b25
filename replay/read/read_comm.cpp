#include "replay/read/read_comm.h"

#include <fmt/format.h>
#include <optional>
#include <string>

#include "replay/read/node_arguments.h"

namespace simmesh::replay {

namespace {

using Kind = JsonValues::Kind;
using Index = JsonValues::Index;

// CommArguments takes the arguments one after another and remembers what was wrong first.
class CommArguments {
 public:
  CommArguments(const JsonValues& json, Index inputs)
      : json_(json), at_(json.first(inputs)), end_(json.end(inputs)) {}

  // A request is a number, or a pair of a number and a flag; tensors are neither.
  bool begins_with_request() const {
    return at_ != end_ && (json_.is(at_, Kind::integer) || is_pair(at_));
  }
  void skip() {
    if (at_ != end_) at_ = json_.next(at_);
  }
  std::size_t left() const {
    std::size_t count = 0;
    for (Index i = at_; i != end_; i = json_.next(i)) ++count;
    return count;
  }

  std::int64_t integer(std::string_view what) {
    auto index = take(what);
    if (index && json_.is(*index, Kind::integer)) return json_[*index].integer;
    if (index) blame(what, "a number");
    return 0;
  }
  bool boolean(std::string_view what) {
    auto index = take(what);
    if (index && json_.is(*index, Kind::boolean)) return json_[*index].integer != 0;
    if (index) blame(what, "true or false");
    return false;
  }
  std::string_view text(std::string_view what) {
    auto index = take(what);
    if (index && json_.is(*index, Kind::text)) return json_[*index].text;
    if (index) blame(what, "a text");
    return {};
  }

  TraceRequest request() {
    auto index = take("the request");
    if (!index) return {};
    if (json_.is(*index, Kind::integer)) return {json_[*index].integer, std::nullopt};
    if (!is_pair(*index)) {
      blame("the request", "a number, or a number and a flag");
      return {};
    }
    Index number = json_.first(*index);
    return {json_[number].integer, json_[json_.next(number)].integer != 0};
  }

  TraceGroup group(TextPool& texts) {
    auto index = take("the group");
    if (!index) return {};
    if (json_.is(*index, Kind::integer)) return {json_[*index].integer, std::nullopt};
    // A name alone was written for a while.
    if (json_.is(*index, Kind::text))
      return {0, std::pair(texts.id_of(json_[*index].text), TextId{})};
    bool is_pair_of_texts = json_.is(*index, Kind::list) && json_.size(*index) == 2 &&
                            json_.is(json_.first(*index), Kind::text) &&
                            json_.is(json_.next(json_.first(*index)), Kind::text);
    if (!is_pair_of_texts) {
      blame("the group", "a name and a description, or an address");
      return {};
    }
    Index name = json_.first(*index);
    return {0, std::pair(texts.id_of(json_[name].text), texts.id_of(json_[json_.next(name)].text))};
  }

  TraceRange split(std::string_view what, std::vector<std::int64_t>& numbers) {
    TraceRange range{.begin = std::uint32_t(numbers.size()), .end = std::uint32_t(numbers.size())};
    auto index = take(what);
    if (!index) return range;
    if (!json_.integers(*index, numbers)) blame(what, "a list of numbers");
    range.end = std::uint32_t(numbers.size());
    return range;
  }

  const std::string& fault() const { return fault_; }

 private:
  std::optional<Index> take(std::string_view what) {
    if (at_ == end_) {
      if (fault_.empty()) fault_ = fmt::format("expected {}, got no more arguments", what);
      return std::nullopt;
    }
    Index index = at_;
    at_ = json_.next(at_);
    return index;
  }
  bool is_pair(Index index) const {
    return json_.is(index, Kind::list) && json_.size(index) == 2 &&
           json_.is(json_.first(index), Kind::integer) &&
           json_.is(json_.next(json_.first(index)), Kind::boolean);
  }
  void blame(std::string_view what, std::string_view expected) {
    if (fault_.empty())
      fault_ = fmt::format("expected {} as {}, got something else", what, expected);
  }

  const JsonValues& json_;
  Index at_;
  Index end_;
  std::string fault_;
};

struct TensorSum {
  std::int64_t elements = 0;
  TextId type = {};
};

TensorSum sum_of(const ExecutionTrace& trace, TraceRange range) {
  TensorSum sum;
  for (const TraceTensor& tensor : trace.tensors_in(range)) {
    sum.elements += tensor.elements;
    if (sum.type == TextId{}) sum.type = tensor.type;
  }
  return sum;
}

void read_group_figures(CommArguments& arguments, TraceComm& comm) {
  std::size_t left = arguments.left();
  if (left == 1) comm.group_size = arguments.integer("the size of the group");
  if (left < 3) return;
  comm.global_rank_start = arguments.integer("the first rank of the group");
  comm.global_rank_stride = arguments.integer("the stride of the group's ranks");
  comm.group_size = arguments.integer("the size of the group");
  if (left > 3) comm.is_asynchronous = arguments.boolean("whether it is asynchronous");
}

}  // namespace

TraceComm read_comm(const CommNode& from, const JsonValues& json, ExecutionTrace& trace) {
  TraceComm comm;
  comm.attributes = from.attributes;
  CommArguments arguments(json, from.inputs);
  bool has_tensors = !arguments.begins_with_request();
  if (has_tensors) arguments.skip();
  comm.request = arguments.request();
  comm.group = arguments.group(trace.texts);
  comm.rank = arguments.integer("the rank");
  comm.name = trace.texts.id_of(arguments.text("the collective's name"));
  comm.in_split = arguments.split("the input splits", trace.numbers);
  comm.out_split = arguments.split("the output splits", trace.numbers);
  read_group_figures(arguments, comm);
  TensorSum in = sum_of(trace, from.node.inputs), out = sum_of(trace, from.node.outputs);
  comm.in_elements = in.elements;
  comm.out_elements = out.elements;
  if (has_tensors)
    comm.dtype = trace.texts.id_of(c10_type(trace.text(in.type != TextId{} ? in.type : out.type)));
  if (!arguments.fault().empty())
    trace.findings.push_back({.severity = Severity::error,
                              .rule = "comm_arguments",
                              .rank = std::nullopt,
                              .node = from.node.id,
                              .field = "inputs",
                              .message = arguments.fault()});
  return comm;
}

}  // namespace simmesh::replay
