#include "checkpoint/store/faulty_store.h"

#include <mutex>

#include "core/check/error.h"

namespace simmesh::checkpoint {

struct FaultyStore::State {
  std::mutex mutex;
  Plan plan;
  std::vector<std::string> log;
  bool is_stopped = false;

  void check_running() const {
    if (is_stopped) throw MachineStopped();
  }

  // run performs one operation, or the planned fault. `half` is the action of a short write.
  template <class Operation, class Half>
  void run(std::string what, bool needs_space, const Operation& operation, const Half& half) {
    std::lock_guard lock(mutex);
    check_running();
    log.push_back(std::move(what));
    auto number = std::int64_t(log.size());
    bool is_it = number == plan.operation;
    auto fail = [&](const char* why) {
      raise(ErrorKind::runtime_error, "checkpoint/store", "cannot {}: {}", log.back(), why);
    };
    if (plan.fault == Fault::disk_full && number >= plan.operation && needs_space)
      fail("no space left");
    if (is_it && plan.fault == Fault::fail) fail("the operation failed");
    if (is_it && plan.fault == Fault::short_write) {
      half();
      fail("not all bytes were written");
    }
    if (is_it && plan.fault == Fault::stop_before) stop();
    operation();
    if (is_it && plan.fault == Fault::stop_after) stop();
  }
  template <class Operation>
  void run(std::string what, bool needs_space, const Operation& operation) {
    run(std::move(what), needs_space, operation, [] {});
  }
  [[noreturn]] void stop() {
    is_stopped = true;
    throw MachineStopped();
  }
};

class FaultyStore::Output final : public OutputFile {
 public:
  Output(std::unique_ptr<OutputFile> file, std::shared_ptr<State> state, std::string path)
      : file_(std::move(file)), state_(std::move(state)), path_(std::move(path)) {}

  void append(Bytes bytes) override {
    state_->run(
        "write " + path_, true, [&] { file_->append(bytes); },
        [&] { file_->append(bytes.first(bytes.size() / 2)); });
  }
  void sync() override {
    state_->run("sync " + path_, false, [&] { file_->sync(); });
  }

 private:
  std::unique_ptr<OutputFile> file_;
  std::shared_ptr<State> state_;
  std::string path_;
};

FaultyStore::FaultyStore(std::shared_ptr<Store> store, const Plan& plan)
    : store_(std::move(store)), state_(std::make_shared<State>()) {
  state_->plan = plan;
}

std::int64_t FaultyStore::operations() const { return std::int64_t(state_->log.size()); }
const std::vector<std::string>& FaultyStore::log() const { return state_->log; }

std::vector<std::string> FaultyStore::files(const std::string& folder) const {
  state_->check_running();
  return store_->files(folder);
}

std::vector<std::string> FaultyStore::folders(const std::string& folder) const {
  state_->check_running();
  return store_->folders(folder);
}

std::optional<std::int64_t> FaultyStore::size(const std::string& path) const {
  state_->check_running();
  return store_->size(path);
}

void FaultyStore::read(const std::string& path, std::int64_t begin, MutableBytes out) const {
  state_->check_running();
  store_->read(path, begin, out);
}

std::unique_ptr<OutputFile> FaultyStore::create(const std::string& path) {
  std::unique_ptr<OutputFile> file;
  state_->run("create " + path, true, [&] { file = store_->create(path); });
  return std::make_unique<Output>(std::move(file), state_, path);
}

void FaultyStore::sync_folder(const std::string& folder) {
  state_->run("sync the folder " + folder, false, [&] { store_->sync_folder(folder); });
}

void FaultyStore::rename(const std::string& from, const std::string& to) {
  state_->run("rename " + from + " to " + to, false, [&] { store_->rename(from, to); });
}

void FaultyStore::remove(const std::string& path) {
  state_->run("remove " + path, false, [&] { store_->remove(path); });
}

}  // namespace simmesh::checkpoint
