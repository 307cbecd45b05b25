#include "verify/json_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check/check.h"

namespace simmesh {

namespace {

using nlohmann::json;

// Scanner follows the parser's events; returning false ends the parse.
class Scanner : public nlohmann::json_sax<json> {
 public:
  explicit Scanner(JsonScan& scan) : scan_(scan) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (keys_.empty()) scan_.is_object = true;
    return enter();
  }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) {
      scan_.fault = fmt::format("the key '{}' twice in one object", key.substr(0, 40));
      return false;
    }
    if (keys_.size() == 1) scan_.keys.push_back(key);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int number_out_of_range = 406;
    scan_.fault = error.id == number_out_of_range ? "a number that no double holds"
                                                  : "something that is not JSON";
    scan_.fault_offset = position > 0 ? position - 1 : 0;
    return false;
  }

 private:
  bool enter() {
    if (keys_.size() == json_depth_max) {
      scan_.fault = fmt::format("nesting deeper than {}", json_depth_max);
      return false;
    }
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  JsonScan& scan_;
  std::vector<std::set<std::string>> keys_;  // one set a level; empty for lists
};

}  // namespace

JsonScan scan_json(std::string_view text) {
  JsonScan scan;
  Scanner scanner(scan);
  scan.ok = json::sax_parse(text.begin(), text.end(), &scanner);
  if (scan.fault_offset && *scan.fault_offset >= text.size())
    scan.fault = "text that ends too early";
  if (text.find_first_not_of(" \t\r\n") == text.npos) scan.fault = "no text";
  return scan;
}

json parse_json(std::string_view text) {
  json value = json::parse(text.begin(), text.end(), nullptr, false);
  SIMMESH_CHECK(!value.is_discarded(), "parse_json of text that scan_json refuses");
  return value;
}

std::string shown(const json& value) {
  constexpr std::size_t bytes_max = 80;
  if (value.is_structured() && value.size() > 1000)
    return fmt::format("{} of {} entries", value.is_array() ? "a list" : "an object", value.size());
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > bytes_max) text = text.substr(0, bytes_max - 3) + "...";
  return text;
}

}  // namespace simmesh
