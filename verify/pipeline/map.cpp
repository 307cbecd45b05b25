#include <fmt/format.h>

#include "core/check/join_text.h"
#include "pipeline/schedule/stage_map.h"
#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

using pipeline::StageMap;

Schema pipeline_map_schema() {
  using namespace schema;
  Schema stages = or_null(list(integer(), {.min = 1}));
  Schema rounds = list(list(tuple({integer(), integer()})));
  auto with_input = [](Fields results) {
    results.insert(results.begin(),
                   {required("stages", stages_schema()), required("ranks", stages_schema()),
                    required("style", text())});
    return results;
  };
  return object_of({{"raises", with_input({expected("raises", raises_schema())})},
                    {"stage_to_rank", with_input({expected("stage_to_rank", list(integer())),
                                                  expected("rank_to_stages", list(stages)),
                                                  expected("preconnect_rounds", rounds),
                                                  expected("directed_rounds", rounds)})}});
}

std::string rounds_text(const pipeline::EdgeRounds& rounds) {
  std::vector<std::string> texts;
  for (const auto& round : rounds) {
    std::vector<std::string> edges;
    for (const pipeline::Edge& edge : round)
      edges.push_back(fmt::format("{}-{}", edge.first, edge.second));
    texts.push_back(join_text(edges, " "));
  }
  return join_text(texts, "; ");
}

std::string rounds_text(const CaseField& field) {
  pipeline::EdgeRounds rounds;
  for (const CaseField& round : field.items()) {
    rounds.emplace_back();
    for (const CaseField& edge : round.items()) {
      std::vector<std::int64_t> ends = edge.integers();
      rounds.back().emplace_back(ends[0], ends[1]);
    }
  }
  return rounds_text(rounds);
}

void verify_pipeline_map(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::string style = recorded["style"].text();
  StageMap::Size size{recorded["ranks"].integer(), recorded["stages"].integer()};
  auto make = [&] { return StageMap::of_style(pipeline::stage_style_from_string(style), size); };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "the map", *raises, [&] { make(); });
  StageMap map = make();
  std::vector<std::int64_t> ranks = map.ranks(size.stages);
  report.expect_equal("ranks of the stages", recorded["stage_to_rank"].integers(), ranks);
  std::vector<CaseField> stages = recorded["rank_to_stages"].items();
  if (report.expect_equal("number of ranks", std::int64_t(stages.size()), size.ranks))
    for (std::size_t rank = 0; rank < stages.size(); ++rank)
      report.expect_equal(
          fmt::format("stages of rank {}", rank),
          stages[rank].is_null() ? std::vector<std::int64_t>() : stages[rank].integers(),
          map.stages_of(std::int64_t(rank)));
  report.expect_equal("rounds of connections", rounds_text(recorded["preconnect_rounds"]),
                      rounds_text(pipeline::connection_rounds(ranks)));
  report.expect_equal("rounds by direction", rounds_text(recorded["directed_rounds"]),
                      rounds_text(pipeline::directed_rounds(ranks)));
}

const CaseKind pipeline_map_kind(
    {.name = "pipeline_map",
     .summary = "ranks of stages, and rounds in which ranks are connected",
     .schema = pipeline_map_schema,
     .verifier = verify_pipeline_map});

}  // namespace

}  // namespace simmesh
