#include "checkpoint/safetensors/header.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::checkpoint {

namespace {

template <class... Args>
[[noreturn]] void refuse_header(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::value_error, "checkpoint/safetensors",
              fmt::format(format, std::forward<Args>(args)...));
}

// HeaderReader takes the parts of a header from a JSON parser.
class HeaderReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit HeaderReader(SafetensorsHeader& header) : header_(header) {}

  bool null() {
    if (place_ == Place::metadata_value) {
      place_ = Place::top;
      return true;
    }
    return other("null");
  }
  bool boolean(bool) { return other("true or false"); }
  bool number_integer(number_integer_t value) { return other(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) { return other(text); }
  bool binary(binary_t&) { return other("bytes"); }
  bool number_unsigned(number_unsigned_t value);
  bool string(string_t& value);
  bool start_object(std::size_t);
  bool key(string_t& name);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t byte, const std::string& token, const nlohmann::json::exception&) {
    refuse_header("the header isn't JSON in UTF-8: byte {}, at '{}'", byte, token);
  }

 private:
  enum class Place {
    begin,
    top,
    metadata_value,
    metadata,
    metadata_entry,
    entry_value,
    entry,
    dtype,
    shape_value,
    shape,
    offsets_value,
    offsets,
    unknown,  // an unknown field of an entry, depth_ lists and objects deep
  };

  const std::string& tensor() const { return entry_.name; }
  // Refuses a value whose type isn't allowed at its place.
  bool other(std::string_view value);
  bool end_unknown();
  void require_field(bool seen, std::string_view field) const {
    if (!seen) refuse_header("tensor '{}': no field {}", tensor(), field);
  }
  void first_time(bool& seen, std::string_view field) const {
    if (seen) refuse_header("tensor '{}': the field {} comes twice", tensor(), field);
    seen = true;
  }

  SafetensorsHeader& header_;
  Place place_ = Place::begin;
  SafetensorsEntry entry_;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offsets_count_ = 0;
  std::size_t depth_ = 0;
  std::string metadata_key_;
};

bool HeaderReader::other(std::string_view value) {
  switch (place_) {
    case Place::begin: refuse_header("the header is {}, expected an object", value);
    case Place::metadata_value:
    case Place::metadata: refuse_header("__metadata__ is {}, expected an object of texts", value);
    case Place::metadata_entry:
      refuse_header("__metadata__: the value of '{}' is {}, expected a text", metadata_key_, value);
    case Place::entry_value:
      refuse_header("tensor '{}' is {}, expected an object", tensor(), value);
    case Place::dtype: refuse_header("tensor '{}': dtype is {}, expected a text", tensor(), value);
    case Place::shape_value:
    case Place::shape:
      refuse_header("tensor '{}': shape has {}, expected a list of sizes", tensor(), value);
    case Place::offsets_value:
    case Place::offsets:
      refuse_header("tensor '{}': data_offsets has {}, expected two integers", tensor(), value);
    case Place::unknown: return end_unknown();
    case Place::top:
    case Place::entry: break;
  }
  refuse_header("unexpected {}", value);
}

bool HeaderReader::end_unknown() {
  if (depth_ == 0) place_ = Place::entry;
  return true;
}

bool HeaderReader::number_unsigned(number_unsigned_t value) {
  if (place_ != Place::shape && place_ != Place::offsets) return other(fmt::format("{}", value));
  if (value > number_unsigned_t(std::numeric_limits<std::int64_t>::max()))
    return other(fmt::format("{}, more than 63 bits", value));
  if (place_ == Place::shape) {
    entry_.shape.push_back(std::int64_t(value));
    return true;
  }
  if (offsets_count_ == 2) return other("a third integer");
  (offsets_count_++ == 0 ? entry_.begin : entry_.end) = std::int64_t(value);
  return true;
}

bool HeaderReader::string(string_t& value) {
  if (place_ == Place::metadata_entry) {
    if (!header_.metadata->emplace(metadata_key_, std::move(value)).second)
      refuse_header("__metadata__: '{}' comes twice", metadata_key_);
    place_ = Place::metadata;
    return true;
  }
  if (place_ != Place::dtype) return other("a text");
  std::optional<StoredDType> dtype = find_stored_dtype(value);
  if (dtype && !is_safetensors_dtype(*dtype)) dtype.reset();
  if (!dtype) refuse_header("tensor '{}': unknown dtype '{}'", tensor(), value);
  entry_.dtype = *dtype;
  place_ = Place::entry;
  return true;
}

bool HeaderReader::start_object(std::size_t) {
  switch (place_) {
    case Place::begin: place_ = Place::top; return true;
    case Place::metadata_value:
      place_ = Place::metadata;
      header_.metadata.emplace();
      return true;
    case Place::entry_value: place_ = Place::entry; return true;
    case Place::unknown: ++depth_; return true;
    default: return other("an object");
  }
}

bool HeaderReader::key(string_t& name) {
  if (place_ == Place::unknown) return true;
  if (place_ == Place::metadata) {
    metadata_key_ = std::move(name);
    place_ = Place::metadata_entry;
  } else if (place_ == Place::entry) {
    if (name == "dtype") {
      first_time(has_dtype_, name);
      place_ = Place::dtype;
    } else if (name == "shape") {
      first_time(has_shape_, name);
      place_ = Place::shape_value;
    } else if (name == "data_offsets") {
      first_time(has_offsets_, name);
      place_ = Place::offsets_value;
    } else {
      place_ = Place::unknown;
    }
  } else if (name == "__metadata__") {
    if (has_metadata_) refuse_header("__metadata__ comes twice");
    has_metadata_ = true;
    place_ = Place::metadata_value;
  } else {
    entry_ = {};
    entry_.name = std::move(name);
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offsets_count_ = 0;
    place_ = Place::entry_value;
  }
  return true;
}

bool HeaderReader::end_object() {
  if (place_ == Place::unknown) {
    --depth_;
    return end_unknown();
  }
  if (place_ == Place::entry) {
    require_field(has_dtype_, "dtype");
    require_field(has_shape_, "shape");
    require_field(has_offsets_, "data_offsets");
    header_.tensors.push_back(std::move(entry_));
  }
  place_ = Place::top;
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  switch (place_) {
    case Place::shape_value: place_ = Place::shape; return true;
    case Place::offsets_value: place_ = Place::offsets; return true;
    case Place::unknown: ++depth_; return true;
    default: return other("a list");
  }
}

bool HeaderReader::end_array() {
  if (place_ == Place::unknown) {
    --depth_;
    return end_unknown();
  }
  if (place_ == Place::offsets && offsets_count_ != 2)
    return other(fmt::format("{} of them", offsets_count_));
  place_ = Place::entry;
  return true;
}

void check_names(const std::vector<SafetensorsEntry>& tensors) {
  std::vector<const std::string*> names;
  names.reserve(tensors.size());
  for (const SafetensorsEntry& entry : tensors) names.push_back(&entry.name);
  auto by_text = [](const std::string* a, const std::string* b) { return *a < *b; };
  if (!std::is_sorted(names.begin(), names.end(), by_text))
    std::sort(names.begin(), names.end(), by_text);
  auto twice =
      std::adjacent_find(names.begin(), names.end(),
                         [](const std::string* a, const std::string* b) { return *a == *b; });
  if (twice != names.end()) refuse_header("the tensor '{}' comes twice", **twice);
}

// Orders tensors by their data, and checks that the data leave no hole and don't overlap.
void check_offsets(std::vector<SafetensorsEntry>& tensors, std::int64_t data_bytes) {
  auto by_data = [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  };
  if (!std::is_sorted(tensors.begin(), tensors.end(), by_data))
    std::stable_sort(tensors.begin(), tensors.end(), by_data);
  std::int64_t end = 0;
  for (const SafetensorsEntry& entry : tensors) {
    if (entry.begin > entry.end)
      refuse_header("tensor '{}': its data end at {}, before they begin at {}", entry.name,
                    entry.end, entry.begin);
    if (entry.end > data_bytes)
      refuse_header("tensor '{}': its data end at {}, but the file has {} bytes of data",
                    entry.name, entry.end, data_bytes);
    if (entry.begin != end)
      refuse_header("tensor '{}': its data begin at {}, expected {}: there is {} before them",
                    entry.name, entry.begin, end, entry.begin > end ? "a hole" : "an overlap");
    if (std::int64_t bytes = simmesh::checkpoint::data_bytes(entry); bytes != entry.bytes())
      refuse_header("tensor '{}': {} bytes of data, expected {} for {}{}", entry.name,
                    entry.bytes(), bytes, to_string(entry.dtype), simmesh::to_string(entry.shape));
    end = entry.end;
  }
  if (end != data_bytes)
    refuse_header("the tensors end at {}, but the file has {} bytes of data", end, data_bytes);
}

}  // namespace

std::int64_t data_bytes(const SafetensorsEntry& entry) {
  std::int64_t bits = 1;
  for (std::int64_t size : entry.shape)
    if (__builtin_mul_overflow(bits, size, &bits))
      refuse_header("tensor '{}': the sizes {} multiply to more than 63 bits", entry.name,
                    simmesh::to_string(entry.shape));
  if (__builtin_mul_overflow(bits, bits_per_element(entry.dtype), &bits))
    refuse_header("tensor '{}': {} elements of {} have more than 2^60 bytes", entry.name, bits,
                  to_string(entry.dtype));
  if (bits % 8 != 0)
    refuse_header("tensor '{}': elements of {} with the shape {} end within a byte", entry.name,
                  to_string(entry.dtype), simmesh::to_string(entry.shape));
  return bits / 8;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_bytes) {
  if (text.empty() || text.front() != '{')
    refuse_header("the header doesn't begin with '{{', so it is no JSON object");
  // The parser would stop at a zero byte.
  if (auto zero = text.find('\0'); zero != text.npos)
    refuse_header("the header isn't JSON in UTF-8: byte {} is zero", zero + 1);
  SafetensorsHeader header;
  header.length = std::int64_t(text.size());
  HeaderReader reader(header);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  check_names(header.tensors);
  check_offsets(header.tensors, data_bytes);
  return header;
}

namespace {

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    refuse_header(
        "a name or text isn't UTF-8: {}",
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

}  // namespace

std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::string text = "{";
  // The package writes empty metadata only beside tensors. It can't read a file with empty metadata
  // alone.
  if (header.metadata && (!header.metadata->empty() || !header.tensors.empty())) {
    text += "\"__metadata__\":{";
    std::string_view comma = "";
    for (const auto& [key, value] : *header.metadata) {
      text += fmt::format("{}{}:{}", comma, quoted(key), quoted(value));
      comma = ",";
    }
    text += header.tensors.empty() ? "}" : "},";
  }
  std::string_view comma = "";
  for (const SafetensorsEntry& entry : header.tensors) {
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", comma,
                        quoted(entry.name), to_string(entry.dtype), join_text(entry.shape, ","),
                        entry.begin, entry.end);
    comma = ",";
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace simmesh::checkpoint
