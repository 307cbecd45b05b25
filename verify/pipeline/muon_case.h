#pragma once

#include <vector>

#include "core/optim/matrix/torch_muon.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// muon_option_fields are the options of torch.optim.Muon, of which absent ones have their defaults.
schema::Fields muon_option_fields();

// read_muon_options reads them. Raises an Error for an unknown adjust_lr_fn, as Muon does.
optim::TorchMuonOptions read_muon_options(const CaseField& field);

}  // namespace simmesh
