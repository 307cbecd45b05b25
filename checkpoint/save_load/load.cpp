#include "checkpoint/save_load/load.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/catalog/piece.h"
#include "checkpoint/mapping/load_mapped.h"
#include "checkpoint/mapping/mapping.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/read/fetch.h"
#include "checkpoint/read/open_together.h"
#include "checkpoint/read/rank_text.h"
#include "checkpoint/save_load/local_load.h"
#include "checkpoint/save_load/master_weights.h"
#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/memory/ledger.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::size_t listed_max = 20;

// Returns the names of all ranks, since one rank alone may have a value.
std::set<std::string> all_names(const StateDict& state, const ProcessGroup& world) {
  RankTextWriter writer;
  for (const StateDict::Entry& entry : state.entries()) writer.add(entry.name);
  std::set<std::string> names;
  std::string before;
  for (std::string& other : all_gather_text(writer.text(), world)) {
    // Most ranks have the same names.
    if (other == before) continue;
    for (RankTextReader reader(other); !reader.at_end();) names.insert(reader.text());
    before = std::move(other);
  }
  return names;
}

// Load is the work of one rank.
class Load {
 public:
  Load(StateDict& state, std::vector<LocalTensor> locals, const Location& location,
       const LoadOptions& options)
      : state_(state),
        location_(location),
        options_(options),
        world_(ProcessGroup::world()),
        shared_(open_together(location, world_)),
        opened_(shared_->opened),
        names_(all_names(state, world_)),
        mapping_(options.mapping.empty() ? master_statements(state, names_, opened_.catalog)
                                         : options.mapping,
                 stored_shapes()),
        locals_(std::move(locals)) {
    for (std::size_t i = 0; i < opened_.catalog.tensors.size(); ++i)
      places_[opened_.catalog.tensors[i].name] = i;
    for (const StoredObject& object : opened_.catalog.objects) objects_[object.name] = &object;
  }

  LoadReport run();

 private:
  std::map<std::string, StoredShape> stored_shapes() const;
  void compare();
  void compare_tensor(const LocalTensor& local);
  void refuse_differences() const;
  void want(const LocalTensor& local);
  void fill_mapped();
  void load_objects();

  // A piece of a tensor of this rank, and the wanted boxes that it is made of.
  struct Target {
    const MappedTensor* mapped;
    Piece piece;
    std::size_t first_want, wants;
  };

  // True if a target is one wanted box, with its dims in order and its dtype.
  static bool is_as_stored(const Target& target);

  StateDict& state_;
  const Location& location_;
  const LoadOptions& options_;
  ProcessGroup world_;
  std::shared_ptr<const SharedCheckpoint> shared_;  // by all ranks
  const OpenCheckpoint& opened_;
  std::set<std::string> names_;  // that any rank wants
  Mapping mapping_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, const StoredObject*> objects_;
  std::vector<LocalTensor> locals_;
  std::vector<WantedBox> wanted_;
  std::vector<Target> targets_;
  std::vector<std::string> mismatched_;
  LoadReport report_;
};

std::map<std::string, StoredShape> Load::stored_shapes() const {
  std::map<std::string, StoredShape> shapes;
  for (const StoredTensor& tensor : opened_.catalog.tensors)
    if (auto dtype = tensor_dtype(tensor.dtype)) shapes[tensor.name] = {tensor.shape, *dtype};
  return shapes;
}

void Load::compare_tensor(const LocalTensor& local) {
  if (mapping_.is_left_alone(local.name)) return;
  const MappedTensor* mapped = mapping_.find(local.name);
  if (mapped == nullptr) {
    auto place = places_.find(local.name);
    if (place != places_.end())
      mismatched_.push_back(fmt::format("'{}': expected {}, got {}, which no tensor holds",
                                        local.name, to_string(local.dtype),
                                        to_string(opened_.catalog.tensors[place->second].dtype)));
    else if (objects_.contains(local.name))
      mismatched_.push_back(fmt::format("'{}': expected a tensor, got another value", local.name));
    else
      report_.missing.push_back(local.name);
    return;
  }
  if (mapped->shape != local.shape || mapped->dtype() != local.dtype)
    mismatched_.push_back(fmt::format("'{}': expected {}{}, got {}{}", local.name,
                                      to_string(local.dtype), to_string(local.shape),
                                      to_string(mapped->dtype()), to_string(mapped->shape)));
}

void Load::compare() {
  for (const LocalTensor& local : locals_) compare_tensor(local);
  for (const StateDict::Entry& entry : state_.entries()) {
    if (!std::holds_alternative<JsonValue>(entry.value) || objects_.contains(entry.name)) continue;
    if (places_.contains(entry.name))
      mismatched_.push_back(
          fmt::format("'{}': expected a value that is no tensor, got one", entry.name));
    else
      report_.missing.push_back(entry.name);
  }
  for (const auto& [name, place] : places_)
    if (!names_.contains(name) && !mapping_.is_used(name)) report_.unexpected.push_back(name);
  for (const auto& [name, object] : objects_)
    if (!names_.contains(name)) report_.unexpected.push_back(name);
}

std::string listed(std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("\n  {}: ", what);
  for (std::size_t i = 0; i < std::min(names.size(), listed_max); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > listed_max) text += fmt::format(", and {} more", names.size() - listed_max);
  return text;
}

void Load::refuse_differences() const {
  std::string text;
  if (!options_.allow_missing) text += listed("not in the checkpoint", report_.missing);
  if (!options_.allow_unexpected) text += listed("only in the checkpoint", report_.unexpected);
  text += listed("different", mismatched_);
  if (!text.empty())
    raise(ErrorKind::key_error, "checkpoint/load", "{} doesn't fit the state dict:{}",
          location_.text(), text);
}

// Wants the boxes of a tensor. A box that is stored as it is wanted goes straight to its place, any
// other one to a tensor of its own.
void Load::want(const LocalTensor& local) {
  const MappedTensor* mapped = mapping_.find(local.name);
  if (mapped == nullptr || mapping_.is_left_alone(local.name)) return;
  for (const Piece& piece : local.pieces) {
    std::size_t first = wanted_.size();
    for (MappedPiece source : mapped->pieces)
      if (within(source, piece.box))
        wanted_.push_back({places_.at(source.stored), source.source, {}});
    Target target = {mapped, piece, first, wanted_.size() - first};
    if (is_as_stored(target)) {
      wanted_[first].to = piece.part;
      continue;
    }
    for (std::size_t i = first; i < wanted_.size(); ++i) {
      const StoredTensor& stored = opened_.catalog.tensors[wanted_[i].tensor];
      wanted_[i].to = empty(wanted_[i].box.sizes, *tensor_dtype(stored.dtype));
    }
    targets_.push_back(std::move(target));
  }
}

bool Load::is_as_stored(const Target& target) {
  const MappedTensor& mapped = *target.mapped;
  if (target.wants != 1 || mapped.dtypes.size() != 1 || mapped.pieces.size() != 1) return false;
  const std::vector<std::size_t>& permutation = mapped.pieces[0].permutation;
  return std::is_sorted(permutation.begin(), permutation.end());
}

void Load::fill_mapped() {
  Ledger::Uncharged host;
  for (Target& target : targets_) {
    // load_mapped asks for boxes in the order in which they were wanted.
    std::size_t next = target.first_want;
    Tensor values = load_mapped(*target.mapped, target.piece.box,
                                [&](const std::string&, const Box&) { return wanted_[next++].to; });
    copy_(target.piece.part, values);
  }
}

void Load::load_objects() {
  for (std::size_t i = 0; i < state_.entries().size(); ++i) {
    const StateDict::Entry& entry = state_.entries()[i];
    auto found = objects_.find(entry.name);
    if (std::holds_alternative<JsonValue>(entry.value) && found != objects_.end())
      state_.set_loaded(entry.name, found->second->value);
  }
}

LoadReport Load::run() {
  compare();
  together(world_, [&] { refuse_differences(); });
  {
    Ledger::Uncharged host;
    for (const LocalTensor& local : locals_) want(local);
  }
  Fetched fetched = fetch(*location_.store, *shared_, wanted_, world_);
  report_.bytes_needed = fetched.bytes_needed;
  report_.bytes_read = fetched.bytes_read;
  fill_mapped();
  load_objects();
  return report_;
}

}  // namespace

LoadReport load(StateDict& state, const Location& location, const LoadOptions& options) {
  ProcessGroup world = ProcessGroup::world();
  std::vector<LocalTensor> locals;
  together(world, [&] { locals = local_tensors(state); });
  if (options.uses_local && options.mapping.empty())
    if (auto report = load_local(state, locals, location, world)) return *report;
  return Load(state, std::move(locals), location, options).run();
}

LoadReport load(StateDict&& state, const Location& location, const LoadOptions& options) {
  return load(state, location, options);
}

}  // namespace simmesh::checkpoint
