#pragma once

#include <memory>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// MachineStopped is raised by a FaultyStore whose machine has stopped. It is no Error: a program
// that catches errors is gone by then.
struct MachineStopped {};

// FaultyStore is a store in which one operation goes wrong. It counts the operations that change
// something, from 1 on: create, write, sync, rename, remove. Copies are the same store.
class FaultyStore final : public Store {
 public:
  // Fault says what goes wrong.
  enum class Fault : std::uint8_t {
    none,         // only counts
    stop_before,  // the machine stops before the operation
    stop_after,   // the machine stops after the operation
    fail,         // the operation raises a RuntimeError and does nothing
    short_write,  // a write writes half of its bytes and then raises; else like fail
    disk_full,    // from the operation on, every create and write raises
  };
  // Plan is a fault and the number of the operation in which it happens.
  struct Plan {
    Fault fault = Fault::none;
    std::int64_t operation = 0;
  };

  FaultyStore(std::shared_ptr<Store> store, const Plan& plan);

  // operations returns the number of operations so far, and log has each of them in words.
  std::int64_t operations() const;
  const std::vector<std::string>& log() const;

  std::string name() const override { return store_->name(); }
  std::vector<std::string> files(const std::string& folder) const override;
  std::vector<std::string> folders(const std::string& folder) const override;
  std::optional<std::int64_t> size(const std::string& path) const override;
  void read(const std::string& path, std::int64_t begin, MutableBytes out) const override;
  std::unique_ptr<OutputFile> create(const std::string& path) override;
  std::unique_ptr<StoreLock> lock() override { return store_->lock(); }
  void sync_folder(const std::string& folder) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;

 private:
  struct State;
  class Output;

  std::shared_ptr<Store> store_;
  std::shared_ptr<State> state_;
};

}  // namespace simmesh::checkpoint
