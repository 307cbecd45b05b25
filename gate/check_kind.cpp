#include "gate/check_kind.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

namespace {

// A plain pointer is there before any object of another file is made.
constinit const CheckKind* first_check_kind = nullptr;

}  // namespace

CheckKind::CheckKind(std::string_view name, std::string_view after, IsAsked& is_asked, Runs& runs)
    : name_(name), after_(after), is_asked_(is_asked), runs_(runs), next_(first_check_kind) {
  first_check_kind = this;
}

CheckKind::CheckKind(const OfTable& definition)
    : CheckKind(definition.table, definition.after, definition.is_asked, definition.runs) {}

CheckKind::CheckKind(const OfKeys& definition)
    : CheckKind(definition.keys.front(), definition.after, definition.is_asked, definition.runs) {
  keys_ = definition.keys;
  needs_data_ = definition.needs_data;
  reads_ = &definition.reads;
  explains_ = &definition.explains;
}

const std::vector<const CheckKind*>& CheckKind::all() {
  static const std::vector<const CheckKind*> kinds = [] {
    std::vector<const CheckKind*> known, ordered;
    for (const CheckKind* kind = first_check_kind; kind != nullptr; kind = kind->next_)
      known.push_back(kind);
    std::string_view last;
    auto follows = [&](const CheckKind* kind) { return kind->after_ == last; };
    for (auto next = std::find_if(known.begin(), known.end(), follows); next != known.end();
         next = std::find_if(known.begin(), known.end(), follows)) {
      ordered.push_back(*next);
      last = (*next)->name();
      known.erase(next);
    }
    SIMMESH_CHECK(known.empty(), "the check {} comes after {}, which no kind or another one has",
                  known.front()->name(), known.front()->after_);
    return ordered;
  }();
  return kinds;
}

}  // namespace simmesh
