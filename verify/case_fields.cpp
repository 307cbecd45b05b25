#include "verify/case_fields.h"

#include "verify/case_kind.h"
#include "verify/schema_page.h"

namespace simmesh {

namespace {

constexpr const char* introduction = R"(# Fields of recorded cases
The fields that `simmesh verify` reads. `simmesh verify --fields` prints this page from the schemas
in the code that reads the fields; a test compares the two. [verify.md](verify.md) says how cases
are run.

A field that isn't listed makes a case fail, at every depth; so does a word that isn't listed. If a
field is missing, has another type or is out of bounds, the case can't be read, and the command ends
with status 2. Fields that are marked as compared hold results. They are compared with the results
of simmesh, in both directions. An optional field may be left out; then nothing is compared with it.
In a path, `[]` is an entry of a list and `.*` a field of any name.
)";

}  // namespace

std::string case_fields_page() {
  SchemaPage page;
  page.add("Every kind", "", schema::object(shared_fields()));
  for (const CaseKind* kind : CaseKind::all())
    page.add(std::string(kind->name()), "Compared: " + std::string(kind->summary()) + ".",
             kind->own_schema());
  return introduction + page.text();
}

}  // namespace simmesh
