#pragma once

#include <string>

#include "gate/tables/keys.h"
#include "training/training.h"

namespace simmesh {

// read_muon reads an optimizer table of kind "muon": lr, weight_decay, momentum, nesterov,
// ns_steps, adjust_lr_fn, and in the table `others` the keys of the AdamW of parameters that aren't
// matrices.
MuonSpec read_muon(GateTable& table);

// muon_text returns such a table with all its keys.
std::string muon_text(const MuonSpec& spec);

}  // namespace simmesh
