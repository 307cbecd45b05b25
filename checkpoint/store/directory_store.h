#pragma once

#include <string>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// DirectoryStore keeps files below a folder of the file system. The folder is made with the first
// file. Paths with ".." and absolute ones are refused.
class DirectoryStore final : public Store {
 public:
  explicit DirectoryStore(std::string root) : root_(std::move(root)) {}

  std::string name() const override { return root_; }
  bool is_shared() const override { return true; }
  std::vector<std::string> files(const std::string& folder) const override;
  std::vector<std::string> folders(const std::string& folder) const override;
  std::optional<std::int64_t> size(const std::string& path) const override;
  void read(const std::string& path, std::int64_t begin, MutableBytes out) const override;
  std::unique_ptr<InputFile> open(const std::string& path) const override;
  std::unique_ptr<OutputFile> create(const std::string& path) override;
  std::unique_ptr<StoreLock> lock() override;
  void sync_folder(const std::string& folder) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;

 private:
  std::string place(const std::string& path) const;

  std::string root_;
};

}  // namespace simmesh::checkpoint
