#pragma once

#include <optional>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/piece.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/load_report.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// load_local fills a state dict from the files that each rank wrote itself, if nothing has changed
// since. That is so if every rank has a LocalRecord (see SaveOptions::keeps_local) of a world of as
// many ranks, with exactly the names, shapes, dtypes and boxes that it wants. One all-reduce takes
// the minimum of their answers, so all ranks decide alike. If one of them says no, it returns
// nullopt and loads nothing. Ranks send each other nothing more. They read neither the manifest nor
// another rank's files, and compare all bytes with their hashes.
std::optional<LoadReport> load_local(StateDict& state, const std::vector<LocalTensor>& locals,
                                     const Location& location, const ProcessGroup& group);

}  // namespace simmesh::checkpoint
