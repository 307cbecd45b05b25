#include "core/page/report_page.h"

#include <array>
#include <utility>

#include "core/check/error.h"
#include "core/check/one_line.h"
#include "core/page/page_parts.h"

namespace simmesh {

namespace {

constexpr std::string_view data_begin = "<script type=\"application/json\" id=\"data\">";
constexpr std::string_view data_end = "</script>";

// Returns JSON as it may stand in a script element, which ends at the first "</".
std::string script_text(const JsonValue& data) {
  std::string json = data.text_utf8(), text;
  for (char letter : json) {
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
  }
  return text;
}

std::string title_of(const JsonValue& data) {
  const JsonValue* title = data.find("title");
  const std::string* text = title ? title->get<std::string>() : nullptr;
  return text ? *text : "simmesh";
}

void expect_report(const JsonValue& data, const std::string& file) {
  const JsonValue* entries = data.get<JsonValue::Object>() ? data.find("entries") : nullptr;
  if (!entries || !entries->get<JsonValue::List>())
    raise(ErrorKind::value_error, "page/data",
          "{}: expected the data of a report, an object with the list 'entries'", file);
}

}  // namespace

void PageReport::add(ReportEntry entry) {
  JsonValue json = JsonValue::object({{"name", std::move(entry.name)}, {"passed", entry.passed}});
  if (!entry.title.empty()) json.set("title", std::move(entry.title));
  if (!entry.figures.empty()) json.set("figures", std::move(entry.figures));
  json.set("sections", std::move(entry.sections));
  entries.push_back(std::move(json));
}

JsonValue to_json(const PageReport& report) {
  JsonValue data = JsonValue::object(
      {{"title", report.title}, {"summary", report.summary}, {"passed", report.passed}});
  if (!report.command.empty()) data.set("command", report.command);
  data.set("entries", report.entries);
  return data;
}

std::string report_page(const JsonValue& data) {
  const std::pair<std::string_view, std::string> places[] = {
      {"@TITLE@", markup(title_of(data))},
      {"@STYLE@", std::string(page_parts.style)},
      {"@DATA@", script_text(data)},
      {"@SCRIPT@", std::string(page_parts.script)},
  };
  std::string page;
  std::string_view rest = page_parts.frame;
  while (!rest.empty()) {
    std::size_t at = rest.find('@');
    page += rest.substr(0, at);
    rest.remove_prefix(at == rest.npos ? rest.size() : at);
    if (rest.empty()) break;
    std::size_t taken = 1;
    for (const auto& [place, text] : places)
      if (rest.starts_with(place)) {
        page += text;
        taken = place.size();
      }
    if (taken == 1) page += '@';
    rest.remove_prefix(taken);
  }
  return page;
}

JsonValue data_of_page(std::string_view text, const std::string& file) {
  std::string_view json = text;
  std::size_t begin = text.find(data_begin);
  if (begin != text.npos) {
    json = text.substr(begin + data_begin.size());
    json = json.substr(0, json.find(data_end));
  } else if (text.substr(0, text.find_first_of("{[")).find('<') != text.npos) {
    raise(ErrorKind::value_error, "page/data",
          "{}: expected a page that --report wrote, got one without its data", file);
  }
  JsonValue data = JsonValue::parse(json, file);
  expect_report(data, file);
  return data;
}

}  // namespace simmesh
