#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "core/check/error.h"
#include "replay/job/trace_job.h"
#include "replay/memory/memory_plan.h"
#include "replay/read/read_execution_trace.h"
#include "replay/read/unpack.h"
#include "replay/report/report_job.h"
#include "replay/trace/trace_summary.h"
#include "tests/checkpoint/allocated_bytes.h"
#include "tests/checkpoint/hostile_bytes.h"
#include "tests/replay/packed.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using checkpoint::testing::AllocatedBytes;
using checkpoint::testing::HostileBytes;

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The recorded broken traces, most of which have a single fault.
std::vector<std::string> recorded_traces() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           SIMMESH_SOURCE_DIR "/tests/cases/replay/trace_bad"))
    if (entry.is_regular_file()) texts.push_back(text_of_file(entry.path()));
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Counts the endings of inputs.
struct Endings {
  std::int64_t read = 0, refused = 0;

  template <class Body>
  void run(const Body& body) {
    try {
      body();
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
};

TraceJob job_of(const std::string& text) {
  TraceJob job;
  for (std::int64_t rank : {0, 1}) {
    TextSource source("rank.json", text);
    job.ranks.push_back({rank, "rank.json", read_execution_trace(source)});
  }
  return job;
}

// Whatever a trace holds, reading it ends with a trace or an Error, and takes memory in proportion
// to the text: a window of it, and the expansion of nodes of two bytes.
void read_changed_traces(std::int64_t inputs) {
  constexpr std::size_t memory_free = 1 << 21, memory_times = 192;
  std::vector<std::string> files = recorded_traces();
  ASSERT_GE(files.size(), 28u);
  HostileBytes random(1);
  Endings endings;
  for (std::int64_t i = 0; i < inputs; ++i) {
    std::string text = random.changed(files);
    SCOPED_TRACE(fmt::format("input {}", i));
    AllocatedBytes allocated;
    ASSERT_NO_THROW(endings.run([&] {
      TextSource source("rank-0.json", text);
      summarize(read_execution_trace(source));
    }));
    EXPECT_LE(allocated.most(), memory_free + memory_times * text.size());
  }
  std::printf("%ld changed traces: %ld read, %ld refused\n", long(inputs), long(endings.read),
              long(endings.refused));
  EXPECT_GT(endings.read, inputs / 20);
  EXPECT_GT(endings.refused, inputs / 20);
}

// The same for all that follows: groups, findings, memory, the replay, the analysis.
void report_changed_traces(std::int64_t inputs) {
  std::vector<std::string> files = recorded_traces();
  HostileBytes random(2);
  Endings endings;
  for (std::int64_t i = 0; i < inputs; ++i) {
    std::string text = random.changed(files);
    SCOPED_TRACE(fmt::format("input {}", i));
    ASSERT_NO_THROW(endings.run([&] {
      JobReportOptions options;
      options.run.data_bytes_max = 1 << 20;
      report_job(job_of(text), std::nullopt, options);
    }));
  }
  std::printf("%ld jobs of changed traces: %ld reported on, %ld refused\n", long(inputs),
              long(endings.read), long(endings.refused));
  EXPECT_GT(endings.read, inputs / 20);
}

void unpack_changed_archives(std::int64_t inputs) {
  testing::TemporaryFolder folder;
  std::string text = recorded_traces().front();
  std::vector<std::string> files = {
      testing::gzip(text), testing::tar({{.name = "a/rank-0.json", .bytes = text}}),
      testing::tar(
          {{.name = "rank-0.json.gz", .bytes = testing::gzip(text)}, {.name = "b", .bytes = "x"}},
          false)};
  HostileBytes random(3);
  Endings endings;
  for (std::int64_t i = 0; i < inputs; ++i) {
    std::string path = folder.write("changed", random.changed(files));
    SCOPED_TRACE(fmt::format("input {}", i));
    std::vector<char> places(1 << 12);
    ASSERT_NO_THROW(endings.run([&] {
      for_each_file(path, [&](ByteSource& source) {
        while (source.read(places) > 0) {
        }
      });
    }));
  }
  std::printf("%ld changed archives: %ld read, %ld refused\n", long(inputs), long(endings.read),
              long(endings.refused));
  EXPECT_GT(endings.refused, inputs / 20);
}

TEST(HostileTraces, AreReadOrRefused) { read_changed_traces(14'000); }
TEST(HostileTraces, AreReportedOn) { report_changed_traces(4'000); }
TEST(HostileTraces, MayBeArchives) { unpack_changed_archives(2'000); }

// It takes minutes; `./dev test --long` runs it.
TEST(HostileTraces, DISABLED_AMillionAreReadOrRefused) {
  read_changed_traces(800'000);
  report_changed_traces(100'000);
  unpack_changed_archives(100'000);
}

}  // namespace
}  // namespace simmesh::replay
