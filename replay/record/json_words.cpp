#include "replay/record/json_words.h"

#include <cmath>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/check/json_value.h"

namespace simmesh::replay {

std::string json_text(std::string_view text) { return JsonValue(text).text_utf8(); }

std::string json_number(double number) {
  if (std::isnan(number)) return "\"nan\"";
  if (std::isinf(number)) return number < 0 ? "\"-inf\"" : "\"inf\"";
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string json_list(gsl::span<const std::int64_t> numbers) {
  return fmt::format("[{}]", join_text(numbers, ", "));
}

}  // namespace simmesh::replay
