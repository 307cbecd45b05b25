#include "verify/falsify/falsified_page.h"

#include <fmt/format.h>
#include <set>

#include "core/check/append_text.h"
#include "verify/case_kind.h"

namespace simmesh {

namespace {

constexpr const char* falsified_introduction = R"(# Changes that pass
`simmesh falsify` changes each place of a passing case and runs the case again. Most changes must
make it fail. This page lists by kind the places whose change may pass, as the schemas mark them;
`simmesh falsify --page` prints it, and a test compares the two.

A case whose **input** changes is another case. It passes where it has the same results: a seed of
an empty tensor, a name, a limit that isn't reached. So a change of an input may pass wherever the
schema accepts it. A change of a **result**, a field that nobody knows, a field less that is
required, and a value of another type may not, except in the places with a reason here.
)";

// PlaceList collects the inputs of a schema, and the marked places. A field below an input is one.
class PlaceList {
 public:
  void add(const std::string& path, const SchemaNode& schema, bool is_result) {
    if (schema.type == SchemaNode::Type::named) {
      if (!open_.insert(schema.name).second) return;
      add(path, schema.resolved(), is_result);
      open_.erase(schema.name);
      return;
    }
    for (const Schema& part : schema.parts) add(path, *part, is_result);
    add(path, schema.fields, is_result);
    for (const schema::Choice& choice : schema.choices) add(path, choice.fields, is_result);
  }

  std::string text() const {
    std::string text = "Inputs: ";
    const char* separator = "";
    for (const std::string& path : inputs_) {
      append_text(text, "{}`{}`", separator, path);
      separator = ", ";
    }
    text += inputs_.empty() ? "none.\n" : ".\n";
    if (marked_.empty()) return text;
    text += "\n| place | it may pass because |\n| --- | --- |\n";
    for (const auto& [path, why] : marked_) append_text(text, "| `{}` | {} |\n", path, why);
    return text;
  }

 private:
  void add(const std::string& path, const schema::Fields& fields, bool is_result) {
    for (const schema::Field& field : fields) {
      std::string at = path.empty() ? field.name : fmt::format("{}.{}", path, field.name);
      bool is_compared = is_result || field.is_expected;
      if (!field.why_idle.empty())
        marked_.insert({at, field.why_idle});
      else if (!is_compared && path.find('.') == std::string::npos)
        inputs_.insert(at);
      if (!field.why_absent.empty()) marked_.insert({at, "left out: " + field.why_absent});
      if (!field.why_fewer.empty()) marked_.insert({at, "an entry less: " + field.why_fewer});
      if (field.why_idle.empty()) add(at, *field.value, is_compared);
    }
  }

  std::set<std::string> inputs_, open_;
  std::set<std::pair<std::string, std::string>> marked_;
};

}  // namespace

std::string falsified_page() {
  std::string text = falsified_introduction;
  PlaceList shared;
  shared.add("", *schema::object(shared_fields()), false);
  text += "\n## Every kind\n" + shared.text();
  for (const CaseKind* kind : CaseKind::all()) {
    PlaceList places;
    places.add("", *kind->own_schema(), false);
    append_text(text, "\n## {}\n{}", kind->name(), places.text());
  }
  return text;
}

}  // namespace simmesh
