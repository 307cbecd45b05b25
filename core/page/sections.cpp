#include "core/page/sections.h"

#include <utility>

namespace simmesh {

namespace {

JsonValue section_of(std::string_view kind, const std::string& title) {
  return JsonValue::object({{"kind", kind}, {"title", title}});
}

}  // namespace

JsonValue checks_section(const std::vector<PageCheck>& checks, const std::string& reproduce) {
  JsonValue::List rows;
  for (const PageCheck& check : checks)
    rows.push_back(JsonValue::object({{"name", check.name},
                                      {"passed", check.passed},
                                      {"expected", check.expected},
                                      {"got", check.actual}}));
  JsonValue section = section_of("checks", "Checks");
  section.set("rows", std::move(rows));
  if (!reproduce.empty()) section.set("reproduce", reproduce);
  return section;
}

JsonValue table_section(const std::string& title, const std::vector<std::string>& columns,
                        JsonValue::List rows, const std::string& about) {
  JsonValue section = section_of("table", title);
  if (!about.empty()) section.set("about", about);
  section.set("columns", columns);
  section.set("rows", std::move(rows));
  return section;
}

JsonValue text_section(const std::string& title, const std::string& text) {
  JsonValue section = section_of("text", title);
  section.set("text", text);
  return section;
}

JsonValue failure_section(const std::string& title, const std::string& report) {
  JsonValue section = section_of("failure", title);
  section.set("text", report);
  return section;
}

JsonValue mesh_section(const std::vector<std::int64_t>& shape,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& uses) {
  JsonValue section = section_of("mesh", "Mesh");
  section.set("shape", shape);
  section.set("names", names);
  JsonValue used = JsonValue::object();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!uses[i].empty()) used.set(names[i], uses[i]);
  section.set("uses", std::move(used));
  return section;
}

JsonValue fault_section(const PageFault& fault) {
  JsonValue section = section_of("fault", fault.title);
  section.set("where", fault.where);
  section.set("expected", fault.expected);
  section.set("got", fault.actual);
  return section;
}

JsonValue memory_section(const PageCurves& curves) {
  JsonValue section = section_of("memory", curves.title);
  section.set("unit", curves.unit);
  section.set("stacked", curves.stacked);
  section.set("categories", curves.categories);
  JsonValue::List list;
  for (const PageCurve& curve : curves.curves) {
    JsonValue::List bytes;
    for (const std::vector<std::int64_t>& category : curve.bytes) bytes.emplace_back(category);
    list.push_back(
        JsonValue::object({{"title", curve.title}, {"at", curve.at}, {"bytes", std::move(bytes)}}));
  }
  section.set("curves", std::move(list));
  return section;
}

JsonValue matrices_section(const std::string& title, const std::vector<PageMatrix>& matrices) {
  JsonValue section = section_of("matrices", title);
  JsonValue::List list;
  for (const PageMatrix& matrix : matrices) {
    JsonValue::List cells;
    for (const std::vector<std::int64_t>& row : matrix.cells) cells.emplace_back(row);
    list.push_back(JsonValue::object({{"title", matrix.title},
                                      {"members", matrix.members},
                                      {"cells", std::move(cells)},
                                      {"unit", matrix.unit}}));
  }
  section.set("matrices", std::move(list));
  return section;
}

}  // namespace simmesh
