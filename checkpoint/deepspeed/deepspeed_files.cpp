#include "checkpoint/deepspeed/deepspeed_files.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <string_view>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::int64_t tag_bytes_max = 4096;
constexpr std::string_view states_ending = "_states.pt";

template <class... Args>
[[noreturn]] void refuse_files(const std::string& place, fmt::format_string<Args...> format,
                               Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/deepspeed", "{}: {}", place,
        fmt::format(format, std::forward<Args>(args)...));
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(std::size_t(end - text.data()));
  return number;
}

// StatesName has the parts of a file's name:
// [bf16_]zero_pp_rank_R_mp_rank_MM_{model,optim}_states.pt, or mp_rank_MM_model_states.pt without a
// data-parallel rank.
struct StatesName {
  std::int64_t rank = 0, model_parallel_rank = 0;
  bool is_optimizer = false;
};

std::optional<StatesName> parse_states_name(std::string_view name) {
  StatesName result;
  take(name, "bf16_");
  if (take(name, "zero_pp_rank_")) {
    auto rank = take_number(name);
    if (!rank || !take(name, "_")) return std::nullopt;
    result.rank = *rank;
  }
  if (!take(name, "mp_rank_")) return std::nullopt;
  auto rank = take_number(name);
  if (!rank || !take(name, "_")) return std::nullopt;
  result.model_parallel_rank = *rank;
  result.is_optimizer = take(name, "optim");
  if (!result.is_optimizer && !take(name, "model")) return std::nullopt;
  if (name != states_ending) return std::nullopt;
  return result;
}

std::vector<std::string> in_rank_order(const std::string& place, std::string_view kind,
                                       const std::map<std::int64_t, std::string>& files) {
  std::vector<std::string> result;
  for (const auto& [rank, name] : files) {
    if (rank != std::int64_t(result.size()))
      refuse_files(place, "the {} states of rank {} are missing", kind, result.size());
    result.push_back(name);
  }
  return result;
}

std::optional<DeepSpeedFiles> files_in(const Store& store, const std::string& folder) {
  std::string place = joined(store.name(), folder);
  std::map<std::int64_t, std::string> model, optimizer;
  std::vector<std::string> universal;
  for (const std::string& file : store.files(folder)) {
    if (file.starts_with("zero/") && file.ends_with(".pt")) universal.push_back(file);
    if (file.find('/') != file.npos || !file.ends_with(states_ending)) continue;
    auto name = parse_states_name(file);
    if (!name) refuse_files(place, "expected no files of experts or pipeline stages, got {}", file);
    if (name->model_parallel_rank != 0)
      refuse_files(place, "{} is of model-parallel rank {}: expected one model-parallel rank", file,
                   name->model_parallel_rank);
    if (!(name->is_optimizer ? optimizer : model).emplace(name->rank, file).second)
      refuse_files(place, "two files with the {} states of rank {}",
                   name->is_optimizer ? "optimiser" : "model", name->rank);
  }
  if (model.empty()) return std::nullopt;
  return DeepSpeedFiles{folder, in_rank_order(place, "model", model),
                        in_rank_order(place, "optimiser", optimizer), std::move(universal)};
}

}  // namespace

std::optional<DeepSpeedFiles> find_deepspeed_files(const Store& store, const std::string& folder) {
  if (auto files = files_in(store, folder)) return files;
  std::string latest = joined(folder, "latest");
  if (!store.size(latest)) latest = joined(folder, "latest_universal");
  if (!store.size(latest)) return std::nullopt;
  std::string tag = read_text(store, latest, tag_bytes_max);
  while (!tag.empty() && (tag.back() == '\n' || tag.back() == ' ')) tag.pop_back();
  if (tag.empty() || tag.find("..") != tag.npos || tag.front() == '/') return std::nullopt;
  return files_in(store, joined(folder, tag));
}

}  // namespace simmesh::checkpoint
