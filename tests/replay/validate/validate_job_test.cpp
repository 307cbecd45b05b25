#include "replay/validate/validate_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using testing::findings_text;
using ::testing::HasSubstr;
using testing::made_job;
using testing::MadeTrace;

TEST(ValidateJob, AJobNeedsATrace) {
  EXPECT_EQ(findings_text(validate({})), "error top_level: expected traces, got none\n");
}

TEST(ValidateJob, WhatTheReaderFoundIsAmongTheFindings) {
  TraceJob job = made_job(MadeTrace(0));
  job.findings.push_back({.rule = "json", .rank = 1, .message = "rank-1.json: ends early"});
  job.ranks[0].trace.findings.push_back({.rule = "io_lists", .node = 2, .message = "text"});
  std::string text = findings_text(validate(job));
  EXPECT_THAT(text, HasSubstr("error json: rank 1: rank-1.json: ends early"));
  EXPECT_THAT(text, HasSubstr("error io_lists: rank 0 node 2: text"));
  EXPECT_THAT(text, HasSubstr("error rank_missing: expected traces of 2 ranks, got 1; there is "
                              "none of rank 1\n"));
}

// Each set of ranks that may be there, of four.
TEST(ValidateJob, SaysWhichRanksAreMissing) {
  for (unsigned present = 1; present < 16; ++present) {
    TraceJob job;
    std::string missing;
    for (unsigned rank = 0; rank < 4; ++rank) {
      if (present >> rank & 1u)
        job.ranks.push_back(MadeTrace(rank).group("0", {}, 4).done());
      else if (rank > 0 && !(present >> (rank - 1) & 1u))
        missing = missing.substr(0, missing.find_last_of('-')) + fmt::format("-{}", rank);
      else
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    }
    std::string text = findings_text(validate(job));
    if (present == 15) {
      EXPECT_EQ(text, "");
      continue;
    }
    EXPECT_THAT(text, HasSubstr(fmt::format("there is none of rank {}", missing)));
    bool is_alone = job.ranks.size() == 1;
    EXPECT_EQ(worst(validate(job)), is_alone ? "warning" : "error");
  }
}

TEST(ValidateJob, MixedSchemasAreAWarning) {
  MadeTrace other(1);
  other.trace().schema = {.text = "1.1.0-chakra.0.0.4", .major = 1, .minor = 1, .patch = 0};
  EXPECT_EQ(
      findings_text(validate(made_job(MadeTrace(0), other, MadeTrace(2)))),
      "warning schema_mixed: rank 1 schema: expected the schema '1.1.1-chakra.0.0.4' of other "
      "ranks, got '1.1.0-chakra.0.0.4'\n");
}

TEST(ValidateJob, ManyFindingsOfARuleAreCounted) {
  MadeTrace made(0);
  for (int i = 0; i < 100; ++i) {
    made.op("aten::relu", 4);
    made.last().parent = 1000;
  }
  Findings findings = validate(made_job(made));
  ASSERT_EQ(findings.size(), 21u);
  EXPECT_THAT(findings.back().message, HasSubstr("80 more such findings; the first: the parent of "
                                                 "node 23, node 1000"));
}

// With a step for each pair of ranks, or of nodes, this would take hours.
TEST(ValidateJob, AThousandRanksAreNotComparedPairByPair) {
  TraceJob job;
  for (std::int64_t rank = 0; rank < 1000; ++rank) {
    MadeTrace made(rank);
    made.group("0", {}, 1000)
        .group("1", {rank / 8 * 8, rank / 8 * 8 + 1, rank / 8 * 8 + 2, rank / 8 * 8 + 3,
                     rank / 8 * 8 + 4, rank / 8 * 8 + 5, rank / 8 * 8 + 6, rank / 8 * 8 + 7});
    for (int step = 0; step < 20; ++step) {
      made.add({.rank = rank});
      made.add({.name = "_allgather_base", .group = "1", .rank = rank % 8, .out = {64}});
      made.add({.name = "all_to_allv", .rank = rank, .in = {1000}, .out = {1000}});
      made.add({.name = "send", .rank = (rank + 1) % 1000});
      made.add({.name = "recv", .rank = (rank + 999) % 1000});
    }
    job.ranks.push_back(made.done());
  }
  EXPECT_EQ(findings_text(validate(job)), "");
}

TEST(ValidateJob, NotesAreNoFault) {
  Findings findings = validate(made_job(MadeTrace(0).group("0", {0}).wait(7, 0)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(worst(findings), "ok");
}

}  // namespace
}  // namespace simmesh::replay
