#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verify/schema.h"

namespace simmesh {

// in_words describes the values that a schema accepts: "a list of at most 64 entries, each an
// integer".
std::string in_words(const SchemaNode& schema);
// in_words joins words: "sum, avg or max".
std::string in_words(const std::vector<std::string>& words);

// SchemaPage writes Markdown tables of fields, one a section. Schemas that have a name are written
// once, after the sections that mention them.
//
//   SchemaPage page;
//   page.add("plan", "steps and costs", plan_schema());
//   std::string text = page.text();
class SchemaPage {
 public:
  void add(const std::string& title, const std::string& remark, const Schema& schema);
  // text returns all sections, those of named schemas last, in the order of their names.
  std::string text() const;

 private:
  struct Row {
    std::string path;
    std::string value;
    std::string presence;
  };

  void add_rows(const std::string& path, const SchemaNode& schema, std::vector<Row>& rows);
  void add_fields(const std::string& path, const schema::Fields& fields, const std::string& where,
                  std::vector<Row>& rows);
  void add_structure(const std::string& path, const SchemaNode& schema, std::vector<Row>& rows);
  static std::string section(const std::string& title, const std::string& remark,
                             const std::vector<Row>& rows);

  std::string text_;
  std::vector<std::pair<std::string, Schema>> named_;
};

}  // namespace simmesh
