#include "replay/read/read_comm.h"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "replay/read/node_arguments.h"

namespace simmesh::replay {

namespace dom = simdjson::dom;

namespace {

std::optional<std::pair<dom::element, dom::element>> as_pair(const dom::element& value) {
  if (!value.is_array()) return std::nullopt;
  dom::array list = value.get_array();
  if (list.size() != 2) return std::nullopt;
  return std::pair(list.at(0).value(), list.at(1).value());
}

std::optional<TraceRequest> as_request(const dom::element& value) {
  if (value.is_int64()) return TraceRequest{value.get_int64(), std::nullopt};
  auto pair = as_pair(value);
  if (!pair || !pair->first.is_int64() || !pair->second.is_bool()) return std::nullopt;
  return TraceRequest{pair->first.get_int64(), pair->second.get_bool()};
}

// CommArguments takes the arguments one after another and remembers the first mistake.
class CommArguments {
 public:
  explicit CommArguments(dom::array inputs) : at_(inputs.begin()), end_(inputs.end()) {
    for (auto at = at_; at != end_; ++at) ++left_;
  }

  // Tensors, which come before the request, are no request.
  bool begins_with_request() const { return left_ > 0 && as_request(*at_).has_value(); }
  std::size_t left() const { return left_; }

  std::optional<dom::element> take(std::string_view what) {
    if (left_ == 0) {
      if (fault_.empty()) fault_ = fmt::format("expected {}, got no more arguments", what);
      return std::nullopt;
    }
    dom::element value = *at_;
    ++at_;
    --left_;
    return value;
  }

  // value takes an argument of a type; the type's own default where it has another.
  template <class T>
  T value(std::string_view what, std::string_view expected) {
    T result{};
    auto argument = take(what);
    if (argument && argument->get<T>().get(result) != simdjson::SUCCESS) blame(what, expected);
    return result;
  }
  std::int64_t integer(std::string_view what) { return value<std::int64_t>(what, "a number"); }
  bool boolean(std::string_view what) { return value<bool>(what, "true or false"); }
  std::string_view text(std::string_view what) { return value<std::string_view>(what, "a text"); }

  TraceRequest request() {
    auto argument = take("the request");
    if (!argument) return {};
    auto request = as_request(*argument);
    if (!request) blame("the request", "a number, or a number and a flag");
    return request.value_or(TraceRequest{});
  }

  TraceGroup group(TextPool& texts) {
    auto argument = take("the group");
    if (!argument) return {};
    if (argument->is_int64()) return {argument->get_int64(), std::nullopt};
    // For a while only the name was written.
    if (argument->is_string())
      return {0, std::pair(texts.id_of(argument->get_string().value()), TextId{})};
    auto pair = as_pair(*argument);
    if (!pair || !pair->first.is_string() || !pair->second.is_string()) {
      blame("the group", "a name and a description, or an address");
      return {};
    }
    return {0, std::pair(texts.id_of(pair->first.get_string().value()),
                         texts.id_of(pair->second.get_string().value()))};
  }

  TraceRange split(std::string_view what, std::vector<std::int64_t>& numbers) {
    TraceRange range{.begin = std::uint32_t(numbers.size())};
    auto argument = take(what);
    if (argument && !add_integers(*argument, numbers)) blame(what, "a list of numbers");
    range.end = std::uint32_t(numbers.size());
    return range;
  }

  const std::string& fault() const { return fault_; }

 private:
  void blame(std::string_view what, std::string_view expected) {
    if (fault_.empty())
      fault_ = fmt::format("expected {} as {}, got something else", what, expected);
  }

  dom::array::iterator at_;
  dom::array::iterator end_;
  std::size_t left_ = 0;
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

TraceComm read_comm(const CommNode& from, ExecutionTrace& trace) {
  TraceComm comm;
  comm.attributes = from.attributes;
  CommArguments arguments(from.inputs);
  bool has_tensors = !arguments.begins_with_request();
  if (has_tensors) arguments.take("the tensors");
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
