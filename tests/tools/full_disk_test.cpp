#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check/join_text.h"
#include "tests/temporary_folder.h"
#include "tests/tools/limited_program.h"

namespace simmesh::testing {
namespace {

namespace fs = std::filesystem;

constexpr int no_namespace = 77;
const std::vector<std::string> outputs = {"out.json", "out.svg", "out.txt", "out.html"};

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Makes the folder a file system of so many bytes, which this process alone sees. Returns false
// where the system allows nobody but root to do so.
bool mount_disk(const std::string& folder, std::int64_t bytes) {
  std::string user = fmt::format("0 {} 1", getuid()), group = fmt::format("0 {} 1", getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS) != 0) return false;
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user);
  write_text("/proc/self/gid_map", group);
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  std::string size = fmt::format("size={}", bytes);
  return mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

// Returns what is wrong with a folder in which a command failed to write: files that were there
// before and differ, and files that it left.
std::string damage(const std::string& folder) {
  std::string text;
  for (const std::string& name : outputs) {
    std::ifstream stream(fs::path(folder) / name);
    std::string kept{std::istreambuf_iterator<char>(stream), {}};
    if (kept != "before") text += fmt::format("{} has {} bytes; ", name, kept.size());
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string name = entry.path().filename();
    bool is_known = std::find(outputs.begin(), outputs.end(), name) != outputs.end() ||
                    name == ".lock" || entry.is_directory();
    if (!is_known) text += "left " + entry.path().string() + "; ";
  }
  return text;
}

// Writer is a command that writes, the file that its error must name, and the last line of its
// result, empty where there is none without the files.
struct Writer {
  std::vector<std::string> words;
  std::string file;
  std::string result;
};

// Runs a command in a folder of 16 KiB. Returns what is wrong, empty for nothing.
std::string failure_of(const Writer& writer, const std::string& folder) {
  if (!mount_disk(folder, 16 << 10)) _exit(no_namespace);
  for (const std::string& name : outputs) write_text(fs::path(folder) / name, "before");
  LimitedRun run = run_limited(writer.words, {}, folder);
  std::string text = damage(folder);
  if (run.status != 2) text += fmt::format("status {}; ", run.status);
  for (const std::string& word : {writer.file, std::string("No space left on device")})
    if (run.errors.find(word) == run.errors.npos) text += fmt::format("no word of {}; ", word);
  if (run.output.find(writer.result) == run.output.npos) text += "the result is lost; ";
  return text.empty() ? text : text + "output:\n" + run.output + "errors:\n" + run.errors;
}

std::string gate(const std::string& name) {
  return std::string(SIMMESH_SOURCE_DIR) + "/examples/gates/" + name;
}

std::vector<Writer> writers(const std::string& checkpoint) {
  std::string canonical = gate("canonical.toml"), passed = " passed, 0 failed";
  std::string traces = std::string(SIMMESH_SOURCE_DIR) + "/tests/cases/replay/generated/comms4";
  std::vector<std::string> plan = {"plan",   "--mesh",    "8x4",  "--shape", "64x64",
                                   "--from", "S(0),S(1)", "--to", "R,R"};
  auto with = [](std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  std::vector<std::string> run = {"run", canonical}, replay = {"replay", traces},
                           convert = {"checkpoint", "convert", checkpoint, "new", "--format"};
  return {
      {with(run, {"--trace", "out.json"}), "'out.json'", passed},
      {with(run, {"--execution-trace", "new"}), "'new/rank-", passed},
      {with(run, {"--chakra", "new"}), "'new/rank-", passed},
      {{"run", gate("zero3.toml"), "--picture", "out.svg"}, "'out.svg'", passed},
      {with(plan, {"--picture", "out.svg"}), "'out.svg'", "cost: "},
      {with(plan, {"--picture", "out.txt"}), "'out.txt'", "cost: "},
      {with(replay, {"--html", "out.html"}), "'out.html'", passed},
      {with(replay, {"--trace", "out.json"}), "'out.json'", passed},
      {with(replay, {"--execution-trace", "new"}), "'new/rank-", passed},
      {with(replay, {"--chakra", "new"}), "'new/rank-", passed},
      {with(convert, {"simmesh"}), "new.saving/rank_00000.safetensors", ""},
      {with(convert, {"dcp"}), "new/__0_0.distcp", ""},
      {with(convert, {"safetensors"}), "new/model-00001-of-00001.safetensors", ""},
  };
}

// If this fails, a full disk costs a result or a file that was there, leaves a part of a file, or
// isn't named.
TEST(FullDisk, CostsNothingThatWasThere) {
  TemporaryFolder folder;
  std::string disk = (folder.path() / "disk").string();
  std::string checkpoint = (folder.path() / "whole.safetensors").string();
  fs::create_directory(disk);
  std::string header = R"({"w":{"dtype":"F32","shape":[16384],"data_offsets":[0,65536]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  write_text(checkpoint, bytes + header + std::string(65536, '\0'));
  std::string report = (folder.path() / "report").string();
  for (const Writer& writer : writers(checkpoint)) {
    pid_t child = fork();
    if (child == 0) {
      std::string failure = failure_of(writer, disk);
      write_text(report, failure);
      _exit(failure.empty() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_namespace)
      GTEST_SKIP() << "the system allows no mount in a namespace of a user";
    EXPECT_EQ(status, 0) << join_text(writer.words, " ") << "\n" << folder.read("report");
  }
}

}  // namespace
}  // namespace simmesh::testing
