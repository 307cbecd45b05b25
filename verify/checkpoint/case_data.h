#pragma once

#include <cstddef>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/store/directory_store.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// case_folder returns the folder of a case's file: paths in a case are relative to it.
checkpoint::DirectoryStore case_folder(const RecordedCase& recorded);

// stored_data_schema is {"rule","seed"} with "below" where the rule needs it. The rule "raw" is
// that of files: byte j of the tensor is the upper byte of the random word j.
Schema stored_data_schema();

// stored_data returns the row-major bytes of a tensor by formula. Raises a BadCase for a rule that
// the dtype doesn't have, and for a tensor that no case may have.
std::vector<std::byte> stored_data(const CaseField& data, checkpoint::StoredDType dtype,
                                   const CaseField& shape);

}  // namespace simmesh
