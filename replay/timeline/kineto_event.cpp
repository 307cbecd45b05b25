#include "replay/timeline/kineto_event.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

#include "replay/read/node_arguments.h"

namespace simmesh::replay {

namespace {

namespace ondemand = simdjson::ondemand;

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

std::string_view token_of(ondemand::value& value) {
  std::string_view token = value.raw_json_token();
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

// integer_of takes a number, or a text with one; anything else doesn't count.
std::optional<std::int64_t> integer_of(ondemand::value value) {
  std::string_view token = token_of(value);
  if (token.size() > 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
  std::int64_t number = 0;
  auto result = std::from_chars(token.data(), token.data() + token.size(), number);
  if (result.ec != std::errc() || result.ptr != token.data() + token.size()) return std::nullopt;
  return number;
}

template <class Number>
void take_integer(ondemand::value value, Number& number) {
  if (std::optional<std::int64_t> came = integer_of(value)) number = *came;
}

// text_of takes a text, or a number as it stands; of anything else nothing.
std::string text_of(ondemand::value value) {
  ondemand::json_type type = value.type();
  if (type == ondemand::json_type::string) {
    std::string_view text = value.get_string();
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
      text = text.substr(1, text.size() - 2);
    return std::string(text);
  }
  return type == ondemand::json_type::number ? std::string(token_of(value)) : std::string();
}

// list_text takes a list, or a text that spells one, as it is written.
std::string list_text(ondemand::value value) {
  if (value.type().value() != ondemand::json_type::array) return text_of(value);
  ondemand::array list = value.get_array();
  return std::string(std::string_view(list.raw_json()));
}

// take_list takes a list of numbers; one that is cut counts as empty.
void take_list(ondemand::value value, std::vector<std::int64_t>& numbers) {
  numbers = kineto_numbers(list_text(value)).value_or(std::vector<std::int64_t>());
}

// elements_of multiplies the sizes of the first entry of "Input Dims".
std::int64_t elements_of(ondemand::value dims) {
  if (dims.type().value() != ondemand::json_type::array) return 0;
  for (ondemand::value first : dims.get_array()) {
    if (first.type().value() != ondemand::json_type::array) return 0;
    std::int64_t elements = 1;
    for (ondemand::value size : first.get_array()) {
      std::optional<std::int64_t> number;
      if (size.type().value() == ondemand::json_type::number) number = integer_of(size);
      if (!number || *number < 0 || __builtin_mul_overflow(elements, *number, &elements)) return 0;
    }
    return elements;
  }
  return 0;
}

std::string first_type(ondemand::value types) {
  if (types.type().value() != ondemand::json_type::array) return {};
  for (ondemand::value first : types.get_array())
    return first.type().value() == ondemand::json_type::string
               ? std::string(c10_type(first.get_string().value()))
               : std::string();
  return {};
}

// read_comm_argument takes what PyTorch's profiler says about a communication.
void read_comm_argument(std::string_view key, ondemand::value value, KinetoComm& comm,
                        std::string& members) {
  if (key == "Collective name") comm.name = text_of(value);
  if (key == "dtype") comm.dtype = text_of(value);
  if (key == "In msg nelems") take_integer(value, comm.in_elements);
  if (key == "Out msg nelems") take_integer(value, comm.out_elements);
  if (key == "Group size") take_integer(value, comm.group_size);
  if (key == "Rank") take_integer(value, comm.rank);
  if (key == "In split size") take_list(value, comm.in_split);
  if (key == "Out split size") take_list(value, comm.out_split);
  if (key == "Process Group Name") comm.group = text_of(value);
  if (key == "Process Group Ranks") members = list_text(value);
  if (key == "Comms Id") comm.comms_id = text_of(value);
}

// A label such as "nccl:all_reduce" names the communication, and its shapes are those of the input.
void take_label(KinetoEvent& event, std::int64_t elements, std::string type) {
  if (event.comm.is_known() || event.category != KinetoCategory::annotation) return;
  if (!event.name.starts_with("nccl:")) return;
  event.comm.name = event.name.substr(5);
  event.comm.in_elements = elements;
  event.comm.dtype = std::move(type);
}

}  // namespace

bool KinetoEventReader::read(JsonPiece piece, KinetoEvent& event) {
  event = {};
  is_complete_ = false;
  begin_ns_ = length_ns_ = std::nullopt;
  shape_elements_ = 0;
  shape_type_.clear();
  ondemand::document document =
      parser_.iterate(piece.text.data(), piece.text.size(), piece.text.size() + JsonPiece::padding);
  if (document.type().value() != ondemand::json_type::object)
    throw BadEvent{"expected an object, got something else"};
  for (auto field : document.get_object()) read_field(field.unescaped_key(), field.value(), event);
  if (!is_complete_ || event.category == KinetoCategory::other) return false;
  if (!begin_ns_) throw BadEvent{"expected a time 'ts' in microseconds, got none"};
  if (!length_ns_ || *length_ns_ < 0)
    throw BadEvent{"expected a length 'dur' of at least 0 microseconds, got none"};
  if (event.name.empty()) throw BadEvent{"expected a name, got none"};
  event.begin_ns = *begin_ns_;
  event.length_ns = *length_ns_;
  take_label(event, shape_elements_, std::move(shape_type_));
  return true;
}

void KinetoEventReader::read_field(std::string_view key, ondemand::value value,
                                   KinetoEvent& event) {
  auto text = [&] {
    return value.type().value() == ondemand::json_type::string
               ? std::string_view(value.get_string())
               : std::string_view();
  };
  if (key == "ph") is_complete_ = text() == "X";
  if (key == "cat") event.category = category_of(text());
  if (key == "name") event.name = text();
  if (key == "pid") event.process = token_of(value);
  if (key == "tid") event.thread = token_of(value);
  if (key == "ts") begin_ns_ = nanoseconds_of(token_of(value));
  if (key == "dur") length_ns_ = nanoseconds_of(token_of(value));
  if (key == "args") read_arguments(value, event);
}

void KinetoEventReader::read_arguments(ondemand::value arguments, KinetoEvent& event) {
  if (arguments.type().value() != ondemand::json_type::object) return;
  std::string members;
  for (auto field : arguments.get_object()) {
    std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "stream") event.stream = integer_of(value);
    if (key == "correlation") event.correlation = integer_of(value);
    if (key == "bytes") take_integer(value, event.bytes);
    if (key == "External id") take_integer(value, event.external_id);
    if (key == "Ev Idx") take_integer(value, event.event_index);
    if (key == "Record function id") take_integer(value, event.record_function);
    if (key == "Input Dims") shape_elements_ = elements_of(value);
    if (key == "Input type") shape_type_ = first_type(value);
    read_comm_argument(key, value, event.comm, members);
  }
  if (!members.empty()) event.comm.members = kineto_ranks(members, event.comm.group_size);
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
