#include "verify/pipeline/case_raises.h"

#include <fmt/format.h>
#include <optional>

#include "core/check/error.h"

namespace simmesh {

namespace {

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
  std::string raised(to_string(error->kind()));
  // A RuntimeError about tensors between stages.
  bool is_of_metadata = type == "PipeliningMetadataError" && raised == "RuntimeError";
  if (raised != type && !is_of_metadata)
    report.mismatch(fmt::format("{}: expected {}, got {} ({})", who, type, raised, error->what()));
  report.expect_words(fmt::format("{}: ", who), raises, error->what());
}

}  // namespace simmesh
