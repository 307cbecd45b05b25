#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/check/json_value.h"

namespace simmesh {

// ReportEntry is a part of a report: a gate, a layout, a test. Its sections are those of
// core/page/sections.h.
struct ReportEntry {
  std::string name;
  std::string title = {};
  bool passed = true;
  JsonValue::List figures = {};  // pairs of a name and a value
  JsonValue::List sections = {};

  void add_figure(std::string_view label, JsonValue value) {
    figures.emplace_back(JsonValue::List{label, std::move(value)});
  }
};

// PageReport is the content of a page: what a command was asked, and what came of it.
struct PageReport {
  std::string title;
  std::string summary;       // "12 passed, 0 failed"
  bool passed = true;        // all of it
  std::string command = {};  // the line that makes the report again
  JsonValue::List entries = {};

  void add(ReportEntry entry);
};

// to_json returns the data of a report, which report_page puts on its page.
JsonValue to_json(const PageReport& report);

// report_page returns a page that needs no other file and no network. Its script draws the data,
// which stands in it as JSON; no text of the data is read as markup.
//
//   PageReport report{.title = "A run", .summary = "1 passed, 0 failed"};
//   report.add({.name = "mlp.toml", .sections = {text_section("Losses", "0.5, 0.25")}});
//   std::string page = report_page(to_json(report));
std::string report_page(const JsonValue& data);

// data_of_page returns the data of a page, or of a file that has the data alone. Raises a
// ValueError that names the file for another text.
JsonValue data_of_page(std::string_view text, const std::string& file);

}  // namespace simmesh
