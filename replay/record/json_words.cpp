#include "replay/record/json_words.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace simmesh::replay {

std::string json_text(std::string_view text) {
  using Json = nlohmann::json;
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_number(double number) {
  if (std::isnan(number)) return "\"nan\"";
  if (std::isinf(number)) return number < 0 ? "\"-inf\"" : "\"inf\"";
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string json_list(gsl::span<const std::int64_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers.data(), numbers.data() + numbers.size(), ", "));
}

}  // namespace simmesh::replay
