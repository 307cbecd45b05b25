#include "tests/tools/limited_program.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

namespace fs = std::filesystem;
using testing::LimitedRun;
using testing::ProgramLimits;
using testing::TemporaryFolder;

// Job is one call of the program. Its files are in a folder of its own, `source` is the tree.
struct Job {
  std::string name;
  std::vector<std::string> arguments;
};

const std::string source = SIMMESH_SOURCE_DIR;

std::vector<Job> jobs() {
  std::string gates = source + "/examples/gates/", cases = source + "/tests/cases/",
              dcp = cases + "checkpoint/dcp/native_mesh2x2",
              deepspeed = cases + "checkpoint/deepspeed/z2_fp32_w3_frozen_tied";
  return {
      {"gate", {"run", gates + "mlp.toml", "--trace", "t.json", "--quiet"}},
      {"threads", {"run", gates + "uneven.toml", "--threads", "2", "--quiet"}},
      {"records", {"run", gates + "faults.toml", "--execution-trace", "traces", "--quiet"}},
      {"chakra", {"run", gates + "hsdp.toml", "--chakra", "graphs", "--quiet"}},
      {"picture", {"run", gates + "zero3.toml", "--picture", "p.svg", "--quiet"}},
      {"explore", {"explore", gates + "canonical.toml", "--schedules", "3", "--json"}},
      {"verify", {"verify", cases + "checkpoint", "--limit", "40", "--jobs", "2"}},
      {"falsify", {"falsify", cases + "fsdp", "--limit", "1", "--sample", "4"}},
      {"replay",
       {"replay", cases + "replay/resnet_2gpu_et.1.1.0.json.gz", "--html", "page.html", "--json"}},
      {"plan", {"plan", "--shape", "8x8", "--mesh", "2x2", "--from", "S(0),R", "--to", "R,S(1)"}},
      {"inspect", {"checkpoint", "inspect", deepspeed, "--json"}},
      {"check", {"checkpoint", "verify", dcp}},
      {"to_simmesh", {"checkpoint", "convert", deepspeed, "new"}},
      {"to_dcp", {"checkpoint", "convert", dcp, "new", "--format", "dcp"}},
      {"to_safetensors",
       {"checkpoint", "convert", dcp, "new", "--format", "safetensors", "--file-bytes", "200"}},
      {"diff", {"checkpoint", "diff", dcp, cases + "checkpoint/dcp/native_single"}},
      {"config", {"config", source + "/tests/cases/zero/b1.json"}},
      {"doctor", {"doctor"}},
  };
}

// Returns the files below a folder with their bytes, by path.
std::map<std::string, std::string> contents(const TemporaryFolder& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) {
      std::string name = entry.path().lexically_relative(folder.path()).string();
      files[name] = folder.read(name);
    }
  return files;
}

// WholeRun is a job's run without limits.
struct WholeRun {
  Job job;
  LimitedRun run;
  std::map<std::string, std::string> files;

  explicit WholeRun(const Job& whole) : job(whole) {
    TemporaryFolder folder;
    run = testing::run_limited(job.arguments, {}, folder.path().string());
    files = contents(folder);
  }
};

// Expects that a run with limits ends as the whole one, or that it is refused with one reason and
// leaves no file that isn't whole.
void expect_right_or_refused(const WholeRun& whole, const ProgramLimits& limits) {
  TemporaryFolder folder;
  LimitedRun run = testing::run_limited(whole.job.arguments, limits, folder.path().string());
  SCOPED_TRACE(whole.job.name + " with " + limits.text() + "\n" + run.output + run.errors);
  std::map<std::string, std::string> files = contents(folder);
  for (const auto& file : files) {
    const std::string &name = file.first, &bytes = file.second;
    auto right = whole.files.find(name);
    bool is_same = right != whole.files.end() && right->second == bytes;
    // A run that had no memory leaves its trace up to there, which is whole as well.
    bool is_trace = name == "t.json" && run.status == 2 &&
                    testing::error_text([&] { JsonValue::parse(bytes); }).empty();
    EXPECT_TRUE(is_same || is_trace) << name << " isn't whole";
  }
  // The system can't even load the program.
  if (run.status == 127 && run.errors.find("loading shared libraries") != run.errors.npos) return;
  if (run.status == whole.run.status && run.status != 2) {
    EXPECT_EQ(run.output, whole.run.output);
    EXPECT_EQ(files, whole.files);
  } else {
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.errors.find("simmesh: "), run.errors.npos) << "no reason is told";
  }
}

ProgramLimits refusing(const std::string& call, std::int64_t number, bool goes_on) {
  return {.environment = {{"LD_PRELOAD", SIMMESH_REFUSING_CALLS},
                          {call, std::to_string(number)},
                          {"SIMMESH_REFUSES_ON", goes_on ? "1" : "0"}}};
}

// Calls `body` with numbers from `begin` to `end` whose ratio is the same, at most.
void for_numbers(std::int64_t begin, std::int64_t end, double ratio,
                 const std::function<void(std::int64_t)>& body) {
  for (std::int64_t number = begin; number <= end;
       number = std::max(number + 1, std::int64_t(double(number) * ratio)))
    body(number);
}

// Runs a job with too little of everything: numbers of calls and limits grow by a ratio.
void run_with_too_little(const Job& job, double ratio) {
  WholeRun whole(job);
  ASSERT_TRUE(whole.run.status == 0 || whole.run.status == 1)
      << job.name << whole.run.output << whole.run.errors;
  for (bool goes_on : {false, true}) {
    for_numbers(1, 2'000'000, ratio, [&](std::int64_t number) {
      expect_right_or_refused(whole, refusing("SIMMESH_REFUSED_ALLOCATION", number, goes_on));
    });
    if (!whole.files.empty())
      for_numbers(1, 60, ratio, [&](std::int64_t number) {
        expect_right_or_refused(whole, refusing("SIMMESH_REFUSED_WRITE", number, goes_on));
      });
  }
  // The dynamic linker itself needs some memory, and tells by 127.
  for_numbers(96, 4096, ratio, [&](std::int64_t mebibytes) {
    expect_right_or_refused(whole, {.resources = {{RLIMIT_AS, rlim_t(mebibytes) << 20}}});
  });
  for (rlim_t descriptors = 3; descriptors < 12; ++descriptors)
    expect_right_or_refused(whole, {.resources = {{RLIMIT_NOFILE, descriptors}}});
  if (!whole.files.empty())
    for_numbers(4096, 1 << 20, ratio, [&](std::int64_t bytes) {
      expect_right_or_refused(whole, {.resources = {{RLIMIT_FSIZE, rlim_t(bytes)}}});
    });
}

#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
constexpr bool has_own_allocator = true;
#else
constexpr bool has_own_allocator = false;
#endif

// If this fails, a machine that lacks something makes the program crash, hang, give a wrong verdict
// or leave half a file.
TEST(LimitedProgram, EndsRightOrIsRefused) {
  if (has_own_allocator) GTEST_SKIP() << "the sanitizer's allocator can't be replaced";
  for (const Job& job : jobs())
    if (job.name == "gate" || job.name == "to_dcp") run_with_too_little(job, 8);
}

// It takes an hour; `./dev test --long` runs it.
TEST(LimitedProgram, DISABLED_EveryCommandEndsRightOrIsRefused) {
  for (const Job& job : jobs()) run_with_too_little(job, 1.1);
}

}  // namespace
}  // namespace simmesh
