#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace simmesh::pipeline {

// StageStyle is the way in which stages are laid over ranks. In a loop, stage s is on rank s mod P.
// In a V the direction changes after every P stages, so the last stage of one pass and the first of
// the next are on one rank.
enum class StageStyle : std::uint8_t { loop, v };

// stage_style_from_string reads "loop" or "v". Raises a ValueError for another word.
StageStyle stage_style_from_string(std::string_view name);

// StageMap is the rank of each stage.
//
//   pipeline::StageMap stages =
//       pipeline::StageMap::of_style(pipeline::StageStyle::v, {.ranks = 2, .stages = 4});
//   stages.rank_of(2);  // 1: the stages 0, 1, 2, 3 are on the ranks 0, 1, 1, 0
class StageMap {
 public:
  struct Size {
    std::int64_t ranks;
    std::int64_t stages;
  };

  StageMap() = default;
  // The rank of stage s is ranks[s].
  explicit StageMap(const std::vector<std::int64_t>& ranks);

  // of_style raises a ValueError for a V whose number of stages is no multiple of the ranks.
  static StageMap of_style(StageStyle style, Size size);

  // put sets the rank of a stage that has none yet, and returns the rank that it has.
  std::int64_t put(std::int64_t stage, std::int64_t rank);

  // rank_of raises a KeyError for a stage without a rank.
  std::int64_t rank_of(std::int64_t stage) const;
  // ranks returns the ranks of the stages 0 to `stages` - 1.
  std::vector<std::int64_t> ranks(std::int64_t stages) const;
  // stages_of returns the stages of a rank, in ascending order.
  std::vector<std::int64_t> stages_of(std::int64_t rank) const;

 private:
  std::map<std::int64_t, std::int64_t> ranks_;
};

// An Edge is two ranks with neighbouring stages.
using Edge = std::pair<std::int64_t, std::int64_t>;
using EdgeRounds = std::vector<std::vector<Edge>>;

// connection_rounds puts the pairs of ranks that hold neighbouring stages into rounds in which no
// rank occurs twice. Pairs have their lower rank first, and each round takes the first ones, in
// ascending order, that fit. stage_ranks has the rank of each stage.
EdgeRounds connection_rounds(const std::vector<std::int64_t>& stage_ranks);

// directed_rounds has two rounds for each of these: the pairs, and the pairs the other way round.
EdgeRounds directed_rounds(const std::vector<std::int64_t>& stage_ranks);

}  // namespace simmesh::pipeline
