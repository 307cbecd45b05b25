#include "checkpoint/store/memory_store.h"

#include <algorithm>
#include <utility>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

[[noreturn]] void fail_in_memory(const std::string& what, const std::string& path,
                                 const char* why) {
  raise(ErrorKind::runtime_error, "checkpoint/store", "cannot {} {} in memory: {}", what, path,
        why);
}

std::vector<std::string> parts(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t slash = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(begin, slash - begin));
    begin = slash + 1;
  }
  return names;
}

// Splits a path into its folder and its last name.
std::pair<std::string, std::string> split(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

class MemoryStore::Output final : public OutputFile {
 public:
  Output(std::shared_ptr<State> state, std::shared_ptr<Node> file)
      : state_(std::move(state)), file_(std::move(file)) {}

  void append(Bytes bytes) override {
    std::lock_guard lock(state_->mutex);
    file_->bytes.insert(file_->bytes.end(), bytes.begin(), bytes.end());
  }
  void sync() override {
    std::lock_guard lock(state_->mutex);
    file_->synced_bytes = file_->bytes.size();
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Node> file_;
};

class MemoryStore::Lock final : public StoreLock {
 public:
  explicit Lock(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Lock() override {
    std::lock_guard lock(state_->mutex);
    state_->is_locked = false;
  }

 private:
  std::shared_ptr<State> state_;
};

MemoryStore::MemoryStore() : state_(std::make_shared<State>()) { state_->root.is_folder = true; }

const MemoryStore::Node* MemoryStore::find(const std::string& path) const {
  const Node* node = &state_->root;
  for (const std::string& name : parts(path)) {
    auto found = node->names.find(name);
    if (found == node->names.end()) return nullptr;
    node = found->second.get();
  }
  return node;
}

MemoryStore::Node* MemoryStore::find(const std::string& path) {
  return const_cast<Node*>(std::as_const(*this).find(path));
}

const MemoryStore::Node& MemoryStore::file(const std::string& what, const std::string& path) const {
  const Node* node = find(path);
  if (node == nullptr || node->is_folder) fail_in_memory(what, path, "no such file");
  return *node;
}

std::vector<std::string> MemoryStore::files(const std::string& folder) const {
  std::lock_guard lock(state_->mutex);
  std::vector<std::string> found;
  auto visit = [&](const auto& self, const Node& node, const std::string& path) -> void {
    for (const auto& [name, entry] : node.names) {
      if (entry->is_folder)
        self(self, *entry, joined(path, name));
      else
        found.push_back(joined(path, name));
    }
  };
  if (const Node* top = find(folder)) visit(visit, *top, "");
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> MemoryStore::folders(const std::string& folder) const {
  std::lock_guard lock(state_->mutex);
  std::vector<std::string> found;
  if (const Node* top = find(folder))
    for (const auto& [name, entry] : top->names)
      if (entry->is_folder) found.push_back(name);
  return found;
}

std::optional<std::int64_t> MemoryStore::size(const std::string& path) const {
  std::lock_guard lock(state_->mutex);
  const Node* node = find(path);
  if (node == nullptr || node->is_folder) return std::nullopt;
  return std::int64_t(node->bytes.size());
}

void MemoryStore::read(const std::string& path, std::int64_t begin, MutableBytes out) const {
  std::lock_guard lock(state_->mutex);
  const std::vector<std::byte>& bytes = file("read", path).bytes;
  if (begin < 0 || std::size_t(begin) > bytes.size() ||
      out.size() > bytes.size() - std::size_t(begin))
    fail_in_memory("read", path, "the file ends too early");
  std::copy_n(bytes.begin() + begin, out.size(), out.begin());
}

std::unique_ptr<OutputFile> MemoryStore::create(const std::string& path) {
  std::lock_guard lock(state_->mutex);
  auto [folder, name] = split(path);
  Node* node = &state_->root;
  for (const std::string& part : parts(folder)) {
    std::shared_ptr<Node>& entry = node->names[part];
    if (!entry) {
      entry = std::make_shared<Node>();
      entry->is_folder = true;
    }
    if (!entry->is_folder) fail_in_memory("create", path, "a file has the name of its folder");
    node = entry.get();
  }
  auto file = std::make_shared<Node>();
  if (!node->names.emplace(name, file).second) fail_in_memory("create", path, "the file exists");
  return std::make_unique<Output>(state_, std::move(file));
}

std::unique_ptr<StoreLock> MemoryStore::lock() {
  std::lock_guard lock(state_->mutex);
  if (state_->is_locked) fail_in_memory("lock", "", "another save is under way");
  state_->is_locked = true;
  return std::make_unique<Lock>(state_);
}

void MemoryStore::sync_folder(const std::string& folder) {
  std::lock_guard lock(state_->mutex);
  Node* node = find(folder);
  if (node == nullptr || !node->is_folder) fail_in_memory("sync", folder, "no such folder");
  node->synced_names = node->names;
}

void MemoryStore::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(state_->mutex);
  auto [from_folder, from_name] = split(from);
  auto [to_folder, to_name] = split(to);
  Node *source = find(from_folder), *target = find(to_folder);
  if (source == nullptr || !source->names.contains(from_name))
    fail_in_memory("rename", from, "no such file or folder");
  if (target == nullptr || !target->is_folder)
    fail_in_memory("rename", from, "no folder for the new name");
  std::shared_ptr<Node> node = source->names[from_name];
  if (auto taken = target->names.find(to_name);
      taken != target->names.end() && (node->is_folder || taken->second->is_folder))
    fail_in_memory("rename", from, "the new name is taken");
  source->names.erase(from_name);
  target->names[to_name] = std::move(node);
}

void MemoryStore::remove(const std::string& path) {
  std::lock_guard lock(state_->mutex);
  auto [folder, name] = split(path);
  if (Node* node = find(folder)) node->names.erase(name);
}

std::shared_ptr<MemoryStore::Node> MemoryStore::left_of(const Node& node, After after) {
  auto left = std::make_shared<Node>();
  left->is_folder = node.is_folder;
  std::size_t kept = node.bytes.size();
  if (after == After::only_synced) kept = node.synced_bytes;
  if (after == After::half_of_each_file) kept = node.synced_bytes + (kept - node.synced_bytes) / 2;
  left->bytes.assign(node.bytes.begin(), node.bytes.begin() + std::ptrdiff_t(kept));
  left->synced_bytes = kept;
  for (const auto& [name, entry] : after == After::only_synced ? node.synced_names : node.names)
    left->names[name] = left_of(*entry, after);
  left->synced_names = left->names;
  return left;
}

MemoryStore MemoryStore::stopped(After after) const {
  std::lock_guard lock(state_->mutex);
  MemoryStore left;
  left.state_->root = *left_of(state_->root, after);
  return left;
}

void MemoryStore::flip(const std::string& path, std::int64_t byte, int bit) {
  std::lock_guard lock(state_->mutex);
  Node* node = find(path);
  if (node == nullptr || std::size_t(byte) >= node->bytes.size())
    fail_in_memory("flip a bit of", path, "no such byte");
  node->bytes[std::size_t(byte)] ^= std::byte(1 << bit);
}

}  // namespace simmesh::checkpoint
