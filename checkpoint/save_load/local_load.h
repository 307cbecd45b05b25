#pragma once

#include <optional>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/piece.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/load_report.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// load_local fills a state dict from the files that each rank wrote itself, where nothing has
// changed since: every rank has a LocalRecord (see SaveOptions::keeps_local) of a world of as many
// ranks, with just the names, shapes, dtypes and boxes that it wants. All ranks decide alike: one
// all-reduce takes the minimum of their answers, and where one of them says no the result is
// nullopt and nothing was loaded. Then ranks send each other nothing, and read neither the manifest
// nor another rank's files; what they read is compared with its hashes.
std::optional<LoadReport> load_local(StateDict& state, const std::vector<LocalTensor>& locals,
                                     const Location& location, const ProcessGroup& group);

}  // namespace simmesh::checkpoint
