#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/store/store.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// all_gather_text returns every rank's text.
std::vector<std::string> all_gather_text(const std::string& text, const ProcessGroup& group);

// together runs something on every rank. If it raises an Error on any, every rank raises that of
// the lowest one, whose text then names the rank; so no rank waits for one that has given up.
void together(const ProcessGroup& group, const std::function<void()>& work);

}  // namespace simmesh::checkpoint
