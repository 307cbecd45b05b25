#include "verify/pipeline/case_raises.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/check/error.h"

namespace simmesh {

namespace {

std::string in_lower_case(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_accident(const CaseField& raises) {
  std::string type = raises["type"].text();
  if (type == "TypeError") return raises["words"].size() == 0;
  return type == "KeyError" || type == "IndexError" || type == "ZeroDivisionError";
}

std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadCase&) {
    throw;
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

Schema raises_schema(schema::Fields further) {
  using namespace schema;
  further.push_back(expected("type", text()));
  further.push_back(expected("words", list(text()))
                        .because("words are in no order, and fewer or shorter ones ask for less")
                        .or_fewer("fewer words ask for less"));
  further.push_back(label("message", any_text()).or_absent());
  return object(std::move(further));
}

void expect_raises(CaseReport& report, std::string_view who, const CaseField& raises,
                   const std::function<void()>& call) {
  std::optional<Error> error = error_of(call);
  std::string type = raises["type"].text();
  if (!error) return report.mismatch(fmt::format("{}: expected {}, got no error", who, type));
  if (is_accident(raises)) return;
  std::string raised(to_string(error->kind())), message = in_lower_case(error->what());
  if (raised != type)
    report.mismatch(fmt::format("{}: expected {}, got {} ({})", who, type, raised, error->what()));
  for (const std::string& word : raises["words"].texts())
    if (message.find(in_lower_case(word)) == std::string::npos)
      report.mismatch(
          fmt::format("{}: expected '{}' in the message, got: {}", who, word, error->what()));
}

}  // namespace simmesh
