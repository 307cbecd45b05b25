#include "checkpoint/native/save_layout.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace simmesh::checkpoint {

namespace {

constexpr std::pair<std::string_view, std::string_view> part_prefixes[] = {
    {"model.", "model_state"},
    {"master.", "master_weight"},
    {"optim.", "optimizer_state"},
    {"ema.", "ema_state"}};
constexpr std::string_view other_part = "other_state";

}  // namespace

std::string_view part_of_name(std::string_view name) {
  for (const auto& [prefix, part] : part_prefixes)
    if (name.starts_with(prefix)) return part;
  return other_part;
}

bool is_part_folder(std::string_view name) {
  return name == other_part || std::any_of(std::begin(part_prefixes), std::end(part_prefixes),
                                           [&](const auto& entry) { return entry.second == name; });
}

}  // namespace simmesh::checkpoint
