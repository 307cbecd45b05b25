#include "replay/timeline/kineto_event.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

#include "replay/read/node_arguments.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t microseconds_max = 4'000'000'000'000'000;

// Before 2021 the categories had other names.
KinetoCategory category_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, KinetoCategory>, 14> categories = {{
      {"cpu_op", KinetoCategory::operation},
      {"Operator", KinetoCategory::operation},
      {"cuda_runtime", KinetoCategory::runtime},
      {"cuda_driver", KinetoCategory::runtime},
      {"Runtime", KinetoCategory::runtime},
      {"user_annotation", KinetoCategory::annotation},
      {"gpu_user_annotation", KinetoCategory::device_annotation},
      {"kernel", KinetoCategory::kernel},
      {"Kernel", KinetoCategory::kernel},
      {"gpu_memcpy", KinetoCategory::copy},
      {"Memcpy", KinetoCategory::copy},
      {"gpu_memset", KinetoCategory::copy},
      {"Memset", KinetoCategory::copy},
      {"hip_runtime", KinetoCategory::runtime},
  }};
  for (auto [known, category] : categories)
    if (known == name) return category;
  return KinetoCategory::other;
}

// integer_of returns a number, or the number in a text; anything else doesn't count.
std::optional<std::int64_t> integer_of(const dom::element& value) {
  std::int64_t number = 0;
  if (value.is_int64()) return value.get_int64();
  std::string_view text;
  if (value.get(text)) return std::nullopt;
  auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class Number>
void take_integer(const dom::element& value, Number& number) {
  if (std::optional<std::int64_t> came = integer_of(value)) number = *came;
}

// text_of returns a text, or an integer as a text; empty for anything else.
std::string text_of(const dom::element& value) {
  std::string_view text;
  if (value.get(text)) return value.is_int64() ? fmt::to_string(std::int64_t(value)) : "";
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// take_list reads a list of numbers, or a text that spells one; one that was cut counts as empty.
void take_list(const dom::element& value, std::vector<std::int64_t>& numbers) {
  numbers.clear();
  if (!value.is_array())
    numbers = kineto_numbers(text_of(value)).value_or(std::vector<std::int64_t>());
  else if (!add_integers(value, numbers))
    numbers.clear();
}

// elements_of multiplies the sizes of the first entry of "Input Dims".
std::int64_t elements_of(const dom::element& dims) {
  dom::element first;
  std::vector<std::int64_t> sizes;
  if (dims.at(0).get(first) || !first.is_array() || !add_integers(first, sizes)) return 0;
  std::int64_t elements = 1;
  for (std::int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) return 0;
  return elements;
}

std::string first_type(const dom::element& types) {
  std::string_view first;
  return types.at(0).get(first) ? std::string() : std::string(c10_type(first));
}

// read_comm_arguments reads the fields that PyTorch's profiler writes about a communication.
void read_comm_arguments(const dom::object& arguments, KinetoComm& comm) {
  std::string members;
  for (auto [key, value] : arguments) {
    if (key == "Collective name") comm.name = text_of(value);
    if (key == "dtype") comm.dtype = text_of(value);
    if (key == "In msg nelems") take_integer(value, comm.in_elements);
    if (key == "Out msg nelems") take_integer(value, comm.out_elements);
    if (key == "Group size") take_integer(value, comm.group_size);
    if (key == "Rank") take_integer(value, comm.rank);
    if (key == "In split size") take_list(value, comm.in_split);
    if (key == "Out split size") take_list(value, comm.out_split);
    if (key == "Process Group Name") comm.group = text_of(value);
    if (key == "Comms Id") comm.comms_id = text_of(value);
    if (key == "Process Group Ranks") {
      take_list(value, comm.members);
      members = text_of(value);
    }
  }
  if (comm.members.empty()) comm.members = kineto_ranks(members, comm.group_size);
}

// A label such as "nccl:all_reduce" names the communication, and its shapes are those of the input.
void read_label(const dom::object& arguments, std::string_view name, KinetoComm& comm) {
  comm.name = name.substr(name.find(':') + 1);
  dom::element dims, types;
  if (!arguments["Input Dims"].get(dims)) comm.in_elements = elements_of(dims);
  if (!arguments["Input type"].get(types)) comm.dtype = first_type(types);
}

void read_arguments(const dom::object& arguments, KinetoEvent& event) {
  for (auto [key, value] : arguments) {
    if (key == "stream") event.stream = integer_of(value);
    if (key == "correlation") event.correlation = integer_of(value);
    if (key == "bytes") take_integer(value, event.bytes);
    if (key == "External id") take_integer(value, event.external_id);
    if (key == "Ev Idx") take_integer(value, event.event_index);
    if (key == "Record function id") take_integer(value, event.record_function);
  }
  bool is_label = event.name.starts_with("nccl:") || is_host_communication(event.name);
  bool is_communication =
      event.name == "record_param_comms" || event.name.starts_with("nccl") || is_label;
  if (!is_communication) return;
  read_comm_arguments(arguments, event.comm);
  if (!event.comm.is_known() && is_label) read_label(arguments, event.name, event.comm);
}

// moment_of reads microseconds exactly, a number or a text that has one; a double wouldn't hold
// those of an absolute time.
std::optional<std::int64_t> moment_of(const dom::object& event, std::string_view json,
                                      std::string_view key) {
  dom::element value;
  std::string_view text;
  if (event[key].get(value)) return std::nullopt;
  if (value.is_int64()) return nanoseconds_of(fmt::to_string(std::int64_t(value)));
  if (!value.get(text)) return nanoseconds_of(text);
  return value.is_double() ? nanoseconds_of(number_text(json, key)) : std::nullopt;
}

std::string_view text_in(const dom::object& event, std::string_view key) {
  std::string_view text;
  return event[key].get(text) ? std::string_view() : text;
}

}  // namespace

bool is_host_communication(std::string_view name) {
  std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || name.starts_with("nccl:")) return false;
  std::string_view backend = name.substr(0, colon), collective = name.substr(colon + 1);
  bool is_word = !backend.empty() &&
                 backend.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  CommKind kind = comm_kind(collective);
  return is_word && (has_data(kind) || kind == CommKind::barrier);
}

bool KinetoEventReader::read(JsonPiece piece, KinetoEvent& event) {
  event = {};
  dom::element json = values_.read(piece);
  dom::object object;
  if (json.get(object)) throw BadEvent{"expected an object, got something else"};
  event.category = category_of(text_in(object, "cat"));
  if (text_in(object, "ph") != "X") return false;
  if (event.category == KinetoCategory::other) {
    ++other_categories_[std::string(text_in(object, "cat"))];
    return false;
  }
  std::optional<std::int64_t> begin_ns = moment_of(object, values_.text(), "ts");
  if (!begin_ns) throw BadEvent{"expected a time 'ts' in microseconds, got none"};
  std::optional<std::int64_t> length_ns = moment_of(object, values_.text(), "dur");
  if (!length_ns) throw BadEvent{"expected a length 'dur' in microseconds, got none"};
  if (*length_ns < 0) {
    ++unfinished_;
    return false;
  }
  event.name = text_in(object, "name");
  if (event.name.empty()) throw BadEvent{"expected a name, got none"};
  event.begin_ns = *begin_ns;
  event.length_ns = *length_ns;
  dom::element field;
  if (!object["pid"].get(field)) event.process = text_of(field);
  if (!object["tid"].get(field)) event.thread = text_of(field);
  dom::object arguments;
  if (!object["args"].get(arguments)) read_arguments(arguments, event);
  return true;
}

std::string_view number_text(std::string_view object, std::string_view key) {
  constexpr std::string_view spaces = " \t\r\n";
  std::size_t depth = 0;
  for (std::size_t i = 0; i < object.size(); ++i) {
    if (object[i] == '{' || object[i] == '[') ++depth;
    if (object[i] == '}' || object[i] == ']') --depth;
    if (object[i] != '"') continue;
    std::size_t begin = i + 1;
    for (++i; object[i] != '"'; ++i) i += object[i] == '\\';
    if (depth != 1 || object.substr(begin, i - begin) != key) continue;
    std::size_t colon = object.find_first_not_of(spaces, i + 1);
    if (object[colon] != ':') continue;
    std::size_t first = object.find_first_not_of(spaces, colon + 1);
    return object.substr(first, object.find_first_of(",} \t\r\n", first) - first);
  }
  return {};
}

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  std::int64_t whole = 0;
  const char *at = microseconds.data(), *end = at + microseconds.size();
  auto result = std::from_chars(at, end, whole);
  if (result.ec != std::errc() || whole < -microseconds_max || whole > microseconds_max)
    return std::nullopt;
  std::int64_t sign = microseconds.starts_with('-') ? -1 : 1;
  at = result.ptr;
  if (at == end) return whole * 1000;
  if (std::string_view(at, std::size_t(end - at)).find_first_of("eE") != std::string_view::npos) {
    double number = std::strtod(std::string(microseconds).c_str(), nullptr);
    if (!(std::abs(number) <= double(microseconds_max))) return std::nullopt;
    return std::int64_t(std::floor(number * 1000 + 0.5));
  }
  if (*at++ != '.' || at == end) return std::nullopt;
  std::int64_t thousandths = 0;
  int digits = 0;
  for (; at != end; ++at, ++digits) {
    if (*at < '0' || *at > '9') return std::nullopt;
    if (digits < 3) thousandths = thousandths * 10 + (*at - '0');
    if (digits == 3 && *at >= '5') ++thousandths;
  }
  for (; digits < 3; ++digits) thousandths *= 10;
  return whole * 1000 + sign * thousandths;
}

}  // namespace simmesh::replay
