#include "checkpoint/deepspeed/deepspeed_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "checkpoint/deepspeed/flat_line.h"
#include "checkpoint/deepspeed/step_count.h"
#include "checkpoint/deepspeed/universal_states.h"
#include "checkpoint/torch_file/flat_values.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "checkpoint/torch_file/torch_file.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

template <class... Args>
[[noreturn]] void refuse_deepspeed(fmt::format_string<Args...> format, Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/deepspeed", "{}",
        fmt::format(format, std::forward<Args>(args)...));
}

// Returns the entries of a dict with text keys, in order. None has no entries.
std::vector<std::pair<std::string, PickleValue>> entries_of(PickleValue dict,
                                                            std::string_view what) {
  std::vector<std::pair<std::string, PickleValue>> entries;
  if (dict == nullptr || dict->kind == Kind::none) return entries;
  if (dict->kind != Kind::dict) refuse_deepspeed("{} isn't a dict", what);
  for (std::size_t i = 0; i < dict->items.size(); i += 2)
    entries.emplace_back(as_text(dict->items[i], what), dict->items[i + 1]);
  return entries;
}

// Named finds the entries of a dict, which may have very many, by name.
using Named = std::map<std::string_view, PickleValue>;

Named by_name(PickleValue dict, std::string_view what) {
  Named named;
  if (dict->kind != Kind::dict) refuse_deepspeed("{} isn't a dict", what);
  for (std::size_t i = 0; i < dict->items.size(); i += 2)
    named[as_text(dict->items[i], what)] = dict->items[i + 1];
  return named;
}

bool is_given(PickleValue value) { return value != nullptr && value->kind != Kind::none; }

// Returns the state of a parameter, which torch.optim keeps under its index in the groups.
PickleValue at_index(PickleValue dict, std::int64_t index) {
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2)
    if (dict->items[i]->kind == Kind::integer && dict->items[i]->integer == index)
      return dict->items[i + 1];
  return nullptr;
}

// Returns the values of DynamicLossScaler in the order of optim::LossScaler.
std::optional<JsonValue> loss_scaler_value(PickleValue scaler, std::int64_t skipped) {
  if (scaler == nullptr || scaler->kind != Kind::object || scaler->items.size() < 3)
    return std::nullopt;
  PickleValue state = scaler->items[2];
  if (state->kind != Kind::dict || find_field(state, "cur_hysteresis") == nullptr)
    return std::nullopt;
  JsonValue::List numbers;
  for (const char* key : {"cur_scale", "cur_hysteresis", "cur_iter", "last_overflow_iter"})
    numbers.push_back(json_of(field(state, key)));
  numbers.push_back(JsonValue(skipped));
  return JsonValue{std::move(numbers)};
}

// Group is a flat group of parameters, and their layout.
struct Group {
  std::vector<std::pair<std::string, Shape>> parameters;
  std::vector<std::int64_t> paddings;  // elements after each parameter; empty for none
};

class DeepSpeedReader {
 public:
  DeepSpeedReader(const Store& store, const DeepSpeedFiles& files) : store_(store), names_(files) {
    for (const std::string& name : files.model)
      model_.emplace_back(store, joined(files.folder, name));
    for (const std::string& name : files.optimizer)
      optimizer_.emplace_back(store, joined(files.folder, name));
  }

  Catalog read() {
    module_ = field(model_[0].root(), "module");
    module_tensors_ = by_name(module_, "module");
    read_groups();
    if (optimizer_.empty() && !groups_.empty()) {
      if (names_.universal.empty())
        refuse_deepspeed("{}: the optimiser states of the ranks are missing", names_.folder);
      read_universal();
    }
    if (!optimizer_.empty()) {
      check_partitions();
      if (stage_ == 3)
        read_partitioned();
      else
        read_flat_groups();
    }
    add_module();
    if (stage_ == 3) add_frozen_partitions();
    add_tied();
    add_values();
    check_catalog(catalog_);
    return std::move(catalog_);
  }

 private:
  PickleValue state_of(std::size_t rank) const {
    return field(optimizer_[rank].root(), "optimizer_state_dict");
  }
  PickleValue base_state_of(std::size_t rank) const {
    return field(state_of(rank), stage_ == 3 ? "optimizer_state_dict" : "base_optimizer_state");
  }
  std::string weight_name(const std::string& parameter) const;
  StoredTensor& add_tensor(const std::string& name, StoredDType dtype, const Shape& shape) {
    catalog_.tensors.push_back({name, dtype, shape, {}});
    return catalog_.tensors.back();
  }
  void add_whole(const TorchFile& file, const std::string& file_name, const std::string& name,
                 PickleValue tensor);
  void read_groups();
  void check_partitions();
  void read_universal();
  void read_flat_groups();
  void read_partitioned();
  PickleValue group_state(std::size_t rank, std::size_t group) const;
  std::vector<std::string> element_keys(std::size_t group) const;
  void add_to_line(FlatLine& line, std::size_t rank, PickleValue tensor) const;
  void add_group(const Group& group, const FlatLine& line, const std::string& key);
  void add_partitioned(const std::vector<FlatLine>& lines, const std::string& key);
  void add_steps(std::size_t index, const Group& group);
  void add_module();
  void add_frozen_partitions();
  void add_tied();
  void add_values();
  void add_optimizer_values(PickleValue base, PickleValue wrapper);
  void add_client_values();
  std::int64_t counted(const char* key) const;

  const Store& store_;
  const DeepSpeedFiles& names_;
  std::vector<TorchFile> model_, optimizer_;
  std::optional<UniversalStates> universal_;
  PickleValue module_ = nullptr;
  Named module_tensors_;
  std::int64_t stage_ = 0;
  std::vector<Group> groups_;
  std::set<std::string> trained_;
  Catalog catalog_;
};

void DeepSpeedReader::add_whole(const TorchFile& file, const std::string& file_name,
                                const std::string& name, PickleValue tensor) {
  TorchFile::Place place = file.place(tensor);
  StoredTensor& stored = add_tensor(name, place.dtype, place.shape);
  stored.chunks.push_back(place.chunk(file_name));
}

void DeepSpeedReader::read_groups() {
  PickleValue shapes = find_field(model_[0].root(), "param_shapes");
  if (!is_given(shapes)) return;
  for (PickleValue group : as_items(shapes, "param_shapes")) {
    groups_.emplace_back();
    for (const auto& [name, size] : entries_of(group, "param_shapes")) {
      Dims dims = torch_size(size, "a parameter's shape");
      groups_.back().parameters.emplace_back(name, Shape(dims.begin(), dims.end()));
      if (!trained_.insert(name).second) refuse_deepspeed("the parameter '{}' comes twice", name);
    }
  }
}

// Reads the stage, an object of ZeroStageEnum or a number. BF16_Optimizer writes none, and has the
// form of stage 1.
void DeepSpeedReader::check_partitions() {
  PickleValue stage = find_field(state_of(0), "zero_stage");
  stage_ = 1;
  if (stage != nullptr && stage->kind == Kind::object) {
    std::vector<std::int64_t> numbers = as_integers(stage->items[1], "zero_stage");
    if (numbers.size() != 1)
      refuse_deepspeed("zero_stage: expected 1 number, got {}", numbers.size());
    stage_ = numbers[0];
  } else if (stage != nullptr) {
    stage_ = as_integer(stage, "zero_stage");
  }
  if (stage_ < 1 || stage_ > 3) refuse_deepspeed("expected stage 1, 2 or 3, got {}", stage_);
  PickleValue counts = field(state_of(0), "partition_count");
  std::vector<std::int64_t> ranks = counts->kind == Kind::integer
                                        ? std::vector<std::int64_t>{counts->integer}
                                        : as_integers(counts, "partition_count");
  for (std::int64_t count : ranks)
    if (count != std::int64_t(optimizer_.size()))
      refuse_deepspeed("{}: expected the optimiser states of {} ranks, got {}", names_.folder,
                       count, optimizer_.size());
  if (stage_ == 3 && model_.size() != optimizer_.size())
    refuse_deepspeed("{}: expected the model states of {} ranks, got {}", names_.folder,
                     optimizer_.size(), model_.size());
  if (is_given(find_field(state_of(0), "ds_zero_partition_groups")))
    refuse_deepspeed("{}: partitions over groups of experts aren't read", names_.folder);
}

// Returns the name of a trained parameter: that of its master if the model has it in 16 bits.
std::string DeepSpeedReader::weight_name(const std::string& parameter) const {
  auto found = module_tensors_.find(parameter);
  bool is_master = found != module_tensors_.end() && is_torch_view(found->second) &&
                   read_torch_view(found->second).dtype != StoredDType::f32;
  return (is_master ? "master." : "model.") + parameter;
}

// Returns the optimiser's state of a flat group. It is in a dict, or in a list with
// elastic_checkpoint.
PickleValue DeepSpeedReader::group_state(std::size_t rank, std::size_t group) const {
  PickleValue base = base_state_of(rank);
  if (base->kind == Kind::list) {
    if (group >= base->items.size()) refuse_deepspeed("no optimiser state of group {}", group);
    return base->items[group];
  }
  PickleValue states = field(base, "state");
  if (states->kind != Kind::dict) refuse_deepspeed("the optimiser's state isn't a dict");
  return at_index(states, std::int64_t(group));
}

// Reads a universal checkpoint. One that was made of stage 3 keeps the model files of all ranks.
void DeepSpeedReader::read_universal() {
  universal_.emplace(store_, names_);
  stage_ = names_.model[0].starts_with("zero_pp_rank_") ? 3 : 1;
  std::int64_t made = counted("global_steps") - counted("skipped_steps");
  for (const Group& group : groups_)
    for (const auto& [name, shape] : group.parameters) {
      for (const std::string& key : universal_->keys(name))
        if (key != "step")
          catalog_.tensors.push_back(universal_->tensor(
              name, key, key == "fp32" ? weight_name(name) : fmt::format("optim.{}.{}", name, key),
              shape));
      catalog_.objects.push_back(
          {"optim." + name + ".step", JsonValue(universal_->steps(name).value_or(made)), {}});
    }
}

// Returns the names of the optimiser's tensors that have a value for each element.
std::vector<std::string> DeepSpeedReader::element_keys(std::size_t group) const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : entries_of(group_state(0, group), "an optimiser's state"))
    if (is_torch_view(value) && !read_torch_view(value).shape.empty()) keys.push_back(key);
  return keys;
}

void DeepSpeedReader::add_to_line(FlatLine& line, std::size_t rank, PickleValue tensor) const {
  TorchFile::Place place = optimizer_[rank].row_major_place(tensor);
  if (place.dtype != line.dtype())
    refuse_deepspeed("{}: a flat group of {}, expected {}", optimizer_[rank].path(),
                     dtype_name(place.dtype), dtype_name(line.dtype()));
  line.add(names_.optimizer[rank], place.begin, numel(place.shape));
}

void DeepSpeedReader::add_group(const Group& group, const FlatLine& line, const std::string& key) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    const auto& [name, shape] = group.parameters[i];
    std::string stored = key.empty() ? weight_name(name) : fmt::format("optim.{}.{}", name, key);
    std::int64_t count = numel(shape);
    line.add_chunks(add_tensor(stored, line.dtype(), shape), {0, count}, at);
    at += count + (group.paddings.empty() ? 0 : group.paddings[i]);
  }
  // As in zero_to_fp32, the group is padded to a multiple of twice the ranks.
  std::int64_t multiple = 2 * std::int64_t(optimizer_.size());
  if (key.empty() && (at + multiple - 1) / multiple != (line.count() + multiple - 1) / multiple)
    refuse_deepspeed("{}: parameters of {} elements in a flat group of {}", names_.folder, at,
                     line.count());
}

// Reads stages 1 and 2: each rank in turn has a part of each flat group.
void DeepSpeedReader::read_flat_groups() {
  auto parts_of = [&](std::size_t rank) -> const std::vector<PickleValue>& {
    const auto& parts =
        as_items(field(state_of(rank), "single_partition_of_fp32_groups"), "groups");
    if (parts.size() != groups_.size())
      refuse_deepspeed("{}: {} flat groups, expected {}", optimizer_[rank].path(), parts.size(),
                       groups_.size());
    return parts;
  };
  for (std::size_t rank = 0; rank < optimizer_.size(); ++rank) parts_of(rank);
  PickleValue paddings = find_field(state_of(0), "param_alignment_paddings");
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    if (is_given(paddings)) {
      const std::vector<PickleValue>& of_groups = as_items(paddings, "param_alignment_paddings");
      if (g < of_groups.size()) group.paddings = as_integers(of_groups[g], "paddings");
      if (group.paddings.size() != group.parameters.size())
        refuse_deepspeed("{} paddings of {} parameters", group.paddings.size(),
                         group.parameters.size());
    }
    auto line_of = [&](StoredDType dtype, const auto& tensor_of) {
      FlatLine line(dtype);
      for (std::size_t rank = 0; rank < optimizer_.size(); ++rank)
        add_to_line(line, rank, tensor_of(rank));
      return line;
    };
    add_group(group, line_of(StoredDType::f32, [&](std::size_t rank) { return parts_of(rank)[g]; }),
              "");
    for (const std::string& key : element_keys(g))
      add_group(group,
                line_of(read_torch_view(field(group_state(0, g), key)).dtype,
                        [&](std::size_t rank) { return field(group_state(rank, g), key); }),
                key);
    add_steps(g, group);
  }
}

// Adds the tensors of stage 3: each rank has an equal piece of each parameter, one after the other,
// and groups are cut anywhere.
void DeepSpeedReader::add_partitioned(const std::vector<FlatLine>& lines, const std::string& key) {
  auto ranks = std::int64_t(lines.size());
  std::int64_t at = 0;
  for (const Group& group : groups_)
    for (const auto& [name, shape] : group.parameters) {
      std::string stored = key.empty() ? weight_name(name) : fmt::format("optim.{}.{}", name, key);
      StoredTensor& tensor = add_tensor(stored, lines[0].dtype(), shape);
      std::int64_t count = numel(shape);
      std::int64_t piece = count / ranks + (count % ranks != 0 ? 1 : 0);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        std::int64_t begin = std::min(rank * piece, count);
        lines[std::size_t(rank)].add_chunks(tensor, {begin, std::min(begin + piece, count)}, at);
      }
      at += piece;
    }
  if (key.empty() && at != lines[0].count())
    refuse_deepspeed("{}: parameters of {} elements in flat groups of {}", names_.folder, at,
                     lines[0].count());
}

void DeepSpeedReader::read_partitioned() {
  auto lines_of = [&](StoredDType dtype, const auto& add_parts) {
    std::vector<FlatLine> lines;
    for (std::size_t rank = 0; rank < optimizer_.size(); ++rank) {
      lines.emplace_back(dtype);
      add_parts(lines.back(), rank);
    }
    return lines;
  };
  add_partitioned(lines_of(StoredDType::f32,
                           [&](FlatLine& line, std::size_t rank) {
                             for (PickleValue part :
                                  as_items(field(state_of(rank), "fp32_flat_groups"), "groups"))
                               add_to_line(line, rank, part);
                           }),
                  "");
  if (groups_.empty()) return;
  for (const std::string& key : element_keys(0))
    add_partitioned(lines_of(read_torch_view(field(group_state(0, 0), key)).dtype,
                             [&](FlatLine& line, std::size_t rank) {
                               for (std::size_t g = 0; g < groups_.size(); ++g)
                                 add_to_line(line, rank, field(group_state(rank, g), key));
                             }),
                    key);
  for (std::size_t g = 0; g < groups_.size(); ++g) add_steps(g, groups_[g]);
}

std::int64_t DeepSpeedReader::counted(const char* key) const {
  PickleValue value = find_field(model_[0].root(), key);
  return is_given(value) ? as_integer(value, key) : 0;
}

void DeepSpeedReader::add_steps(std::size_t index, const Group& group) {
  std::int64_t steps = counted("global_steps") - counted("skipped_steps");
  PickleValue state = group_state(0, index);
  PickleValue step = is_given(state) ? find_field(state, "step") : nullptr;
  if (is_given(step)) steps = step_count(optimizer_[0], step);
  for (const auto& [name, shape] : group.parameters)
    catalog_.objects.push_back({"optim." + name + ".step", JsonValue(steps), {}});
}

// Adds buffers and, unless parameters are partitioned, those that aren't trained.
void DeepSpeedReader::add_module() {
  std::set<std::string> buffers;
  for (PickleValue name : as_items(field(model_[0].root(), "buffer_names"), "buffer_names"))
    buffers.insert(as_text(name, "a buffer's name"));
  std::set<std::string> tied;
  for (const auto& [name, other] :
       entries_of(find_field(model_[0].root(), "shared_params"), "tied"))
    tied.insert(name);
  for (const auto& [name, tensor] : entries_of(module_, "module"))
    if (buffers.contains(name) || (stage_ != 3 && !trained_.contains(name) && !tied.contains(name)))
      add_whole(model_[0], names_.model[0], "model." + name, tensor);
}

void DeepSpeedReader::add_frozen_partitions() {
  auto ranks = std::int64_t(model_.size());
  auto shapes =
      entries_of(find_field(model_[0].root(), "frozen_param_shapes"), "frozen_param_shapes");
  std::vector<Named> fragments;
  for (const TorchFile& file : model_)
    if (!shapes.empty())
      fragments.push_back(
          by_name(field(file.root(), "frozen_param_fragments"), "frozen_param_fragments"));
  for (const auto& [name, size] : shapes) {
    Dims dims = torch_size(size, "a parameter's shape");
    Shape shape(dims.begin(), dims.end());
    std::int64_t count = numel(shape);
    std::int64_t piece = count / ranks + (count % ranks != 0 ? 1 : 0);
    StoredTensor* tensor = nullptr;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      auto fragment = fragments[std::size_t(rank)].find(name);
      if (fragment == fragments[std::size_t(rank)].end())
        refuse_deepspeed("frozen_param_fragments: a dict without the key '{}'", name);
      TorchFile::Place place = model_[std::size_t(rank)].row_major_place(fragment->second);
      if (tensor == nullptr) tensor = &add_tensor("model." + name, place.dtype, shape);
      if (place.dtype != tensor->dtype)
        refuse_deepspeed("'{}': pieces of {} and {}", name, dtype_name(tensor->dtype),
                         dtype_name(place.dtype));
      FlatLine line(place.dtype);
      line.add(names_.model[std::size_t(rank)], place.begin, numel(place.shape));
      std::int64_t begin = std::min(rank * piece, count);
      line.add_chunks(*tensor, {begin, std::min(begin + piece, count)}, 0);
    }
  }
}

void DeepSpeedReader::add_tied() {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < catalog_.tensors.size(); ++i) places[catalog_.tensors[i].name] = i;
  for (const auto& [name, other] :
       entries_of(find_field(model_[0].root(), "shared_params"), "shared_params"))
    for (const char* prefix : {"model.", "master."})
      if (auto held = places.find(prefix + as_text(other, "a tied parameter"));
          held != places.end()) {
        StoredTensor tied = catalog_.tensors[held->second];
        tied.name = prefix + name;
        places.emplace(tied.name, catalog_.tensors.size());
        catalog_.tensors.push_back(std::move(tied));
      }
}

void DeepSpeedReader::add_values() {
  if (!optimizer_.empty()) add_optimizer_values(base_state_of(0), state_of(0));
  if (universal_ && universal_->common() != nullptr)
    add_optimizer_values(universal_->common(), universal_->common());
  add_client_values();
}

// Adds the values of the optimiser and its wrapper that are no tensors.
void DeepSpeedReader::add_optimizer_values(PickleValue base, PickleValue wrapper) {
  JsonValue::List rates;
  if (base->kind == Kind::dict)
    for (PickleValue group : as_items(field(base, "param_groups"), "param_groups"))
      rates.push_back(json_of(field(group, "lr")));
  if (!rates.empty()) catalog_.objects.push_back({"optim.lr", {std::move(rates)}, {}});
  if (auto scaler = loss_scaler_value(find_field(wrapper, "loss_scaler"), counted("skipped_steps")))
    catalog_.objects.push_back({"loss_scaler", std::move(*scaler), {}});
}

// Adds the values of the engine and of the caller of save_checkpoint, which may be of any class.
void DeepSpeedReader::add_client_values() {
  static const std::set<std::string> known = {"module",
                                              "buffer_names",
                                              "optimizer",
                                              "param_shapes",
                                              "frozen_param_shapes",
                                              "shared_params",
                                              "frozen_param_fragments",
                                              "data_sampler",
                                              "random_ltd",
                                              "dp_world_size",
                                              "mp_world_size",
                                              "checkpoint_parallel_dimensions",
                                              "ds_config"};
  for (const auto& [name, value] : entries_of(model_[0].root(), "the model states")) {
    if (known.contains(name) || value->kind == Kind::none) continue;
    PickleValue taken = value;
    if (name == "lr_scheduler" && value->kind == Kind::dict)
      if (PickleValue last = find_field(value, "last_batch_iteration")) taken = last;
    checkpoint::add_values(catalog_, model_[0], names_.model[0], taken, name);
  }
}

}  // namespace

Catalog read_deepspeed(const Store& store, const DeepSpeedFiles& files) {
  return DeepSpeedReader(store, files).read();
}

std::vector<std::string> deepspeed_problems(const Store& store, const DeepSpeedFiles& files) {
  std::vector<std::string> problems;
  for (const std::vector<std::string>* names : {&files.model, &files.optimizer, &files.universal})
    for (const std::string& name : *names)
      for (const std::string& problem : torch_file_problems(store, joined(files.folder, name)))
        problems.push_back(problem);
  return problems;
}

}  // namespace simmesh::checkpoint
