#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// The bits of a run depend on program, inputs, seed and arithmetic only. Calls through which time,
// chance, the host or another thread could change them are banned by name, and each ban says what
// to use instead.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Places are prefixes of paths: a folder with its slash, or a concept with its dot.
using Places = std::vector<std::string_view>;

struct Ban {
  std::vector<std::string_view> spellings;
  std::string_view instead;
  Places allowed_in = {};  // where in the libraries it is allowed
  Places only_in = {};     // where it is banned; empty for all libraries
};

const Places data_paths = {"core/", "mesh/", "collectives/", "sharding/",
                           "ddp/",  "fsdp/", "zero/",        "checkpoint/"};

const std::vector<Ban> bans = {
    {{"rand()", "srand(", "drand48(", "std::random_device", "std::mt19937", "std::mt19937_64"},
     "Philox, indexed by the global element offset, or the rank's random stream"},
    {{"std::uniform_int_distribution", "std::uniform_real_distribution", "std::normal_distribution",
      "std::bernoulli_distribution", "std::shuffle(", "std::sample("},
     "our own integer arithmetic: the standard doesn't define their results"},
    {{"std::time(", "time(nullptr", "time(NULL", "time(0", "std::clock(", "gettimeofday(",
      "clock_gettime(", "system_clock", "high_resolution_clock"},
     "virtual time; wall clocks belong to benchmarks"},
    {{"steady_clock"},
     "virtual time; wall clocks belong to benchmarks",
     // Required by Boost.Fiber's interface; and the time for which a rank keeps its turn is wall
     // time, on which no data depend.
     {"core/engine/seats/fiber_scheduler.", "core/engine/seats/thread_seats."}},
    {{"std::reduce(", "std::transform_reduce(", "std::execution"},
     "a loop or std::accumulate, which add in a fixed order"},
    {{"std::exp(",   "std::exp2(", "std::expm1(", "std::log(",  "std::log2(", "std::log10(",
      "std::log1p(", "std::sin(",  "std::cos(",   "std::tan(",  "std::tanh(", "std::sinh(",
      "std::cosh(",  "std::asin(", "std::acos(",  "std::atan(", "std::pow(",  "std::cbrt(",
      "std::erf(",   "std::erfc(", "std::hypot("},
     "core/arithmetic's elementary functions: libm's bits differ between machines",
     {},
     data_paths},
    {{"std::thread", "std::jthread", "std::mutex", "std::shared_mutex", "std::condition_variable",
      "std::async("},
     "the engine's fibers: ranks are not threads",
     // The buffers of all ranks are in one memory, and labels of places in one table, whatever
     // thread a rank is on. Any rank reads and writes files while others run, and a trace is
     // unpacked beside parsing it, before there are ranks. A record of a rank's tensors is written
     // by the member of a collective that comes last, and so are the reductions that runs share.
     {"core/engine/", "core/arithmetic/companions/exact_record.", "core/memory/physical_memory.",
      "core/ops/reused_reductions.", "core/check/call_site.", "core/check/start_threads.",
      "zero/stage3/file_store.", "checkpoint/store/", "replay/read/read_ahead."}},
    {{"thread_local"},
     "fiber-local state: a thread runs many ranks",
     // Scratch memory is used only within one call, in which no fiber switches.
     {"core/arithmetic/sums/scratch.", "core/clock/clock.", "core/engine/",
      "core/memory/data_mode.", "core/memory/ledger."}},
    {{"getenv(", "setenv("}, "an option: environment variables are not an interface"},
    {{"std::cout", "std::cerr", "printf(", "fprintf(", "puts(", "fmt::print(\""},
     "a returned value or a stream that the caller gives"},
    {{"assert("}, "SIMMESH_CHECK, which also holds in release"},
};

bool lies_in(std::string_view path, const Places& places) {
  return std::any_of(places.begin(), places.end(),
                     [&](std::string_view place) { return path.substr(0, place.size()) == place; });
}

// mentions is true if a line of code uses the spelling as a whole name, not as a part of another
// name and not as a member.
bool mentions(std::string_view line, std::string_view spelling) {
  for (std::size_t at = line.find(spelling); at != line.npos; at = line.find(spelling, at + 1)) {
    std::string_view before = line.substr(0, at);
    std::size_t end = at + spelling.size();
    bool begins = before.empty() || !is_identifier_char(before.back());
    bool member = !before.empty() &&
                  (before.back() == '.' ||
                   before.substr(before.size() - std::min<std::size_t>(before.size(), 2)) == "->");
    bool ends = !is_identifier_char(spelling.back()) || end == line.size() ||
                !is_identifier_char(line[end]);
    if (begins && ends && !member) return true;
  }
  return false;
}

std::vector<Finding> banned_calls(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp() || !is_library(file.path())) return findings;
  for (const Ban& ban : bans) {
    if (lies_in(file.path(), ban.allowed_in)) continue;
    if (!ban.only_in.empty() && !lies_in(file.path(), ban.only_in)) continue;
    for (std::size_t i = 0; i < file.code().size(); ++i)
      for (std::string_view spelling : ban.spellings)
        if (mentions(file.code()[i], spelling))
          findings.push_back(
              {file.path(), i + 1, fmt::format("banned {}: use {}", spelling, ban.instead)});
  }
  return findings;
}

std::vector<Finding> using_namespace_in_headers(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_header()) return findings;
  for (std::size_t i = 0; i < file.code().size(); ++i)
    if (mentions(file.code()[i], "using namespace"))
      findings.push_back({file.path(), i + 1, "using namespace in a header"});
  return findings;
}

TEST(BannedCalls, AreNotInTheLibraries) { EXPECT_TRUE(holds_in_tree(banned_calls)); }

TEST(BannedCalls, HeadersOpenNoNamespace) {
  EXPECT_TRUE(holds_in_tree(using_namespace_in_headers));
}

TEST(BannedCalls, FiresOnEverySpelling) {
  for (const Ban& ban : bans)
    for (std::string_view spelling : ban.spellings)
      EXPECT_THAT(banned_calls({"mesh/a.cpp", fmt::format("  x = {} 1);\n", spelling)}), SizeIs(1))
          << spelling;
}

TEST(BannedCalls, LeaveOtherNamesCommentsAndTextAlone) {
  for (std::string line : {"static_assert(true);", "operand();", "clock.time(0);",
                           "snprintf(b, n);", "// rand()", "raise(\"std::cout\");",
                           "int thread_local_count = 0;", "my::reduce(x);", "fmt::print(out, 1);"})
    EXPECT_THAT(banned_calls({"mesh/a.cpp", line}), IsEmpty()) << line;
}

TEST(BannedCalls, HoldWhereTheyAreMeantToHold) {
  EXPECT_THAT(banned_calls({"core/engine/world.cpp", "std::mutex m;"}), IsEmpty());
  EXPECT_THAT(banned_calls({"gate/report.cpp", "std::log(x);"}), IsEmpty());
  EXPECT_THAT(banned_calls({"tools/main.cpp", "std::getenv(\"NO_COLOR\");"}), IsEmpty());
  EXPECT_THAT(banned_calls({"bench/mesh/a.cpp", "steady_clock"}), IsEmpty());
}

TEST(BannedCalls, FiresOnUsingNamespaceInAHeader) {
  EXPECT_THAT(using_namespace_in_headers({"mesh/a.h", "using namespace std;\n"}), SizeIs(1));
  EXPECT_THAT(using_namespace_in_headers({"mesh/a.cpp", "using namespace std;\n"}), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
