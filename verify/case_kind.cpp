#include "verify/case_kind.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

namespace {

// A plain pointer, which exists before any object of another file is made.
constinit const CaseKind* first_kind = nullptr;

}  // namespace

CaseKind::CaseKind(const Definition& definition) : definition_(definition), next_(first_kind) {
  first_kind = this;
}

const Schema& CaseKind::schema() const {
  std::call_once(schema_made_, [this] {
    SchemaNode node = *definition_.schema();
    schema::Fields fields = shared_fields();
    fields.insert(fields.end(), node.fields.begin(), node.fields.end());
    node.fields = std::move(fields);
    schema_ = std::make_shared<const SchemaNode>(std::move(node));
  });
  return schema_;
}

const CaseKind* CaseKind::find(std::string_view name) {
  for (const CaseKind* kind = first_kind; kind != nullptr; kind = kind->next_)
    if (kind->name() == name) return kind;
  return nullptr;
}

std::vector<const CaseKind*> CaseKind::all() {
  std::vector<const CaseKind*> kinds;
  for (const CaseKind* kind = first_kind; kind != nullptr; kind = kind->next_)
    kinds.push_back(kind);
  std::sort(kinds.begin(), kinds.end(),
            [](const CaseKind* a, const CaseKind* b) { return a->name() < b->name(); });
  for (std::size_t i = 1; i < kinds.size(); ++i)
    SIMMESH_CHECK(kinds[i - 1]->name() != kinds[i]->name(), "two kinds of the name {}",
                  kinds[i]->name());
  return kinds;
}

schema::Fields shared_fields() {
  using namespace schema;
  return {required("kind", text()), required("id", text()),
          optional("source", text())
              .because("it chooses a release of PyTorch, which few results depend on"),
          label("why", text()), label("disputed", flag())};
}

}  // namespace simmesh
