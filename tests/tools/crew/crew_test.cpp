#include "tools/crew/crew.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// A crew of one process here, and of others that have sent these texts.
class CrewOfTexts final : public Crew {
 public:
  CrewOfTexts(int rank, std::vector<std::string> others)
      : rank_(rank), others_(std::move(others)) {}
  int rank() const override { return rank_; }
  int size() const override { return 1 + int(others_.size()); }
  std::uint64_t next(std::uint64_t) override { return next_++; }
  std::vector<std::string> gather(const std::string& text) override {
    if (rank_ != 0) return {};
    std::vector<std::string> all = {text};
    all.insert(all.end(), others_.begin(), others_.end());
    return all;
  }

 private:
  int rank_;
  std::vector<std::string> others_;
  std::uint64_t next_ = 0;
};

ShardResults results_of(const std::vector<std::uint64_t>& jobs) {
  ShardResults results{.command = "verify", .jobs = 4};
  for (std::uint64_t job : jobs) results.results.emplace(job, JsonValue(job));
  return results;
}

int count_of(const ShardResults& all) { return int(all.results.size()); }

TEST(Crew, FirstProcessPrintsWhatAllFound) {
  CrewOfTexts crew(0, {"+" + results_of({1, 3}).to_text()});
  EXPECT_EQ(Crew::present(), &crew);
  EXPECT_EQ(work_in_crew(crew, {[] { return results_of({0, 2}); }, count_of}), 4);
}

TEST(Crew, OthersPrintNothing) {
  CrewOfTexts crew(1, {""});
  auto print = [](const ShardResults&) -> int { throw std::runtime_error("printed"); };
  EXPECT_EQ(work_in_crew(crew, {[] { return results_of({0}); }, print}), 0);
}

TEST(Crew, RefusesAJobThatWasDoneTwice) {
  CrewOfTexts crew(0, {"+" + results_of({2}).to_text()});
  testing::expect_error<Error>(
      [&] {
        work_in_crew(crew, {[] { return results_of({0, 2}); }, count_of});
      },
      ErrorKind::value_error, "process 1: expected a job that no other did, got job 2");
}

// The text of an error; empty without one.
std::string error_of(const std::vector<std::string>& others, bool fails_here) {
  CrewOfTexts crew(0, others);
  try {
    work_in_crew(crew, {[&] {
                          if (fails_here) throw std::runtime_error("no such file");
                          return results_of({0});
                        },
                        count_of});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Crew, NamesTheProcessWhoseErrorNoOtherHas) {
  EXPECT_EQ(error_of({"-no such file"}, true), "no such file");
  EXPECT_EQ(error_of({"-no such file"}, false), "process 1 of 2: no such file");
  EXPECT_EQ(error_of({"+" + results_of({1}).to_text(), ""}, false),
            "process 2 of 3: it ended early");
}

TEST(Crew, ThereIsNoneAfterItsEnd) { EXPECT_EQ(Crew::present(), nullptr); }

}  // namespace
}  // namespace simmesh
