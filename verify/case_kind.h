#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"
#include "verify/verify_options.h"

namespace simmesh {

// A Verifier runs one case and adds its mismatches to the report. It raises a BadCase for a case
// that can't be read; any other exception is a failure of the case.
using Verifier = void (*)(const RecordedCase& recorded, const VerifyOptions& options,
                          CaseReport& report);

// CaseKind is a kind of recorded case. An object of it at namespace scope makes the kind known: a
// kind is one source file, and nothing else has to name it.
//
//   const CaseKind plan_kind({.name = "plan",
//                             .summary = "steps and costs of each planner that the case names",
//                             .schema = plan_schema,
//                             .verifier = verify_plan});
class CaseKind {
 public:
  // Definition is all that is known of a kind.
  struct Definition {
    std::string_view name;
    std::string_view summary;  // the compared result
    Schema (*schema)();        // of a case's fields, without those that all kinds share
    Verifier verifier;
  };

  // Two kinds may not have one name.
  explicit CaseKind(const Definition& definition);
  CaseKind(const CaseKind&) = delete;
  CaseKind& operator=(const CaseKind&) = delete;

  std::string_view name() const { return definition_.name; }
  std::string_view summary() const { return definition_.summary; }
  // own_schema is the definition's; schema also has the fields that cases of any kind have. It is
  // made on first use, by any thread.
  Schema own_schema() const { return definition_.schema(); }
  const Schema& schema() const;
  Verifier verifier() const { return definition_.verifier; }

  // find returns the kind of that name; null where it isn't known.
  static const CaseKind* find(std::string_view name);
  // all returns the kinds in alphabetical order.
  static std::vector<const CaseKind*> all();

 private:
  Definition definition_;
  const CaseKind* next_;  // in the order of initialisation, which means nothing
  mutable std::once_flag schema_made_;
  mutable Schema schema_;
};

// shared_fields are the fields that cases of any kind have.
schema::Fields shared_fields();

}  // namespace simmesh
