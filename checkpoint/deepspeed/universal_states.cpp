#include "checkpoint/deepspeed/universal_states.h"

#include <algorithm>

#include "checkpoint/deepspeed/step_count.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* common_file = "zero/optimizer_state.pt";
constexpr std::string_view file_ending = ".pt";

std::string path_of(const std::string& parameter, const std::string& key) {
  return "zero/" + parameter + "/" + key + std::string(file_ending);
}

}  // namespace

UniversalStates::UniversalStates(const Store& store, const DeepSpeedFiles& files)
    : store_(store), files_(files) {
  if (std::binary_search(files.universal.begin(), files.universal.end(), common_file))
    common_.emplace(file(common_file));
}

TorchFile UniversalStates::file(const std::string& path) const {
  return {store_, joined(files_.folder, path)};
}

std::vector<std::string> UniversalStates::keys(const std::string& parameter) const {
  std::string below = path_of(parameter, "");
  below.resize(below.size() - file_ending.size());
  std::vector<std::string> keys;
  for (auto found = std::lower_bound(files_.universal.begin(), files_.universal.end(), below);
       found != files_.universal.end() && found->starts_with(below); ++found)
    keys.push_back(found->substr(below.size(), found->size() - below.size() - file_ending.size()));
  if (std::find(keys.begin(), keys.end(), "fp32") == keys.end())
    raise(ErrorKind::value_error, "checkpoint/deepspeed", "{}: {} is missing",
          joined(store_.name(), files_.folder), path_of(parameter, "fp32"));
  return keys;
}

StoredTensor UniversalStates::tensor(const std::string& parameter, const std::string& key,
                                     const std::string& name, const Shape& shape) const {
  std::string path = path_of(parameter, key);
  TorchFile torch_file = file(path);
  PickleValue value = torch_file.root();
  if (value->kind == PickleNode::Kind::dict) value = field(value, "param");
  TorchFile::Place place = torch_file.row_major_place(value);
  if (place.shape != shape && place.shape != Shape{numel(shape)})
    raise(ErrorKind::value_error, "checkpoint/deepspeed", "{}: expected the shape {}, got {}",
          joined(store_.name(), torch_file.path()), to_string(shape), to_string(place.shape));
  StoredTensor stored = {name, place.dtype, shape, {}};
  stored.chunks.push_back(
      {.box = whole(shape), .file = path, .begin = place.begin, .bytes = place.bytes});
  return stored;
}

std::optional<std::int64_t> UniversalStates::steps(const std::string& parameter) const {
  std::string path = path_of(parameter, "step");
  if (!std::binary_search(files_.universal.begin(), files_.universal.end(), path))
    return std::nullopt;
  TorchFile torch_file = file(path);
  return step_count(torch_file, torch_file.root());
}

}  // namespace simmesh::checkpoint
