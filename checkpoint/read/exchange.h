#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// all_gather_text returns the texts of all ranks of a group.
std::vector<std::string> all_gather_text(const std::string& text, const ProcessGroup& group);

// together runs some work on every rank of a group. If it raises an Error on any rank, every rank
// raises the Error of the lowest one, and the text names that rank. So no rank waits for one that
// has failed.
void together(const ProcessGroup& group, const std::function<void()>& work);

}  // namespace simmesh::checkpoint
