#include "mesh/rank_list.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

constexpr std::int64_t rank_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t members_shown_max = 16;

// find_layout returns the decodable layout of the differences to the first member, if there is one.
// Its finest dim is the longest even run at the front, the only one that a coalesced layout can
// have there. The same then holds for the list of first members of the runs.
std::optional<Layout> find_layout(gsl::span<const std::int64_t> ranks) {
  boost::container::small_vector<LayoutDim, 4> dims;  // finest first
  std::vector<std::int64_t> rest(ranks.begin(), ranks.end());
  while (rest.size() > 1) {
    std::int64_t stride = rest[1] - rest[0];
    if (stride == 0) return std::nullopt;
    std::size_t run = 2;
    while (run < rest.size() && rest[run] - rest[run - 1] == stride) ++run;
    if (rest.size() % run != 0) return std::nullopt;
    std::size_t count = rest.size() / run;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 1; j < run; ++j)
        if (rest[i * run + j] - rest[i * run + j - 1] != stride) return std::nullopt;
      rest[i] = rest[i * run];
    }
    rest.resize(count);
    dims.push_back({static_cast<std::int64_t>(run), stride});
  }
  std::reverse(dims.begin(), dims.end());
  Layout layout(gsl::span<const LayoutDim>(dims.data(), dims.size()));
  if (!layout.decodable()) return std::nullopt;
  return layout;
}

}  // namespace

// Map is shared by irregular lists: the ranks by position, and the positions in the order of their
// ranks.
struct RankList::Map {
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> positions_by_rank;
};

RankList RankList::range(std::int64_t count) {
  if (count < 0 || count > rank_max + 1)
    raise(ErrorKind::value_error, "mesh/rank_list", "expected 0 to 2^31 ranks, got {}", count);
  if (count == 0) return RankList();
  return RankList(nullptr, 0, Layout::contiguous(count));
}

RankList RankList::of(std::initializer_list<std::int64_t> ranks) {
  return of(gsl::span<const std::int64_t>(ranks.begin(), ranks.size()));
}

RankList RankList::of(gsl::span<const std::int64_t> ranks) {
  if (ranks.empty()) return RankList();
  for (std::int64_t rank : ranks)
    if (rank < 0 || rank > rank_max)
      raise(ErrorKind::value_error, "mesh/rank_list", "expected ranks in 0 .. 2^31-1, got {}",
            rank);
  if (std::optional<Layout> layout = find_layout(ranks))
    return RankList(nullptr, ranks[0], std::move(*layout));

  auto map = std::make_shared<Map>();
  map->ranks.assign(ranks.begin(), ranks.end());
  map->positions_by_rank.resize(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    map->positions_by_rank[i] = static_cast<std::int32_t>(i);
  std::sort(map->positions_by_rank.begin(), map->positions_by_rank.end(),
            [&](std::int32_t a, std::int32_t b) {
              return std::pair(ranks[static_cast<std::size_t>(a)], a) <
                     std::pair(ranks[static_cast<std::size_t>(b)], b);
            });
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    std::int32_t a = map->positions_by_rank[i - 1], b = map->positions_by_rank[i];
    if (map->ranks[static_cast<std::size_t>(a)] == map->ranks[static_cast<std::size_t>(b)])
      raise(ErrorKind::value_error, "mesh/rank_list",
            "expected each rank once, got rank {} at positions {} and {}",
            map->ranks[static_cast<std::size_t>(a)], a, b);
  }
  return RankList(std::move(map), 0, Layout::contiguous(static_cast<std::int64_t>(ranks.size())));
}

std::int64_t RankList::at(std::int64_t index) const {
  if (index < 0 || index >= size_)
    raise(ErrorKind::index_error, "mesh/rank_list", "expected an index in 0 .. {}, got {}",
          size_ - 1, index);
  return (*this)[index];
}

std::int64_t RankList::mapped(std::int64_t position) const {
  return map_->ranks[static_cast<std::size_t>(position)];
}

std::optional<std::int64_t> RankList::mapped_index_of(std::int64_t rank) const {
  const std::vector<std::int32_t>& order = map_->positions_by_rank;
  auto found = std::lower_bound(
      order.begin(), order.end(), rank,
      [&](std::int32_t position, std::int64_t wanted) { return mapped(position) < wanted; });
  if (found == order.end() || mapped(*found) != rank) return std::nullopt;
  return layout_.index_of(*found - start_);
}

RankList RankList::select(std::int64_t start, const Layout& layout) const {
  SIMMESH_CHECK(start + layout.min_offset() >= 0 && start + layout.max_offset() < size_,
                "select of {} + {} from {} ranks", start, to_string(layout), size_);
  if (std::optional<PlacedLayout> placed = compose(layout_, layout, start))
    if (placed->layout.decodable())
      return RankList(map_, start_ + placed->start, std::move(placed->layout));
  std::vector<std::int64_t> ranks;
  ranks.reserve(static_cast<std::size_t>(layout.size()));
  for (std::int64_t index = 0; index < layout.size(); ++index)
    ranks.push_back((*this)[start + layout(index)]);
  return of(ranks);
}

bool RankList::covers_map() const { return static_cast<std::size_t>(size_) == map_->ranks.size(); }

std::int64_t RankList::min() const {
  SIMMESH_CHECK(size_ > 0, "min of an empty list");
  if (map_ == nullptr) return start_ + layout_.min_offset();
  if (covers_map()) return mapped(map_->positions_by_rank.front());
  std::vector<std::int64_t> ranks = to_vector();
  return *std::min_element(ranks.begin(), ranks.end());
}

std::int64_t RankList::max() const {
  SIMMESH_CHECK(size_ > 0, "max of an empty list");
  if (map_ == nullptr) return start_ + layout_.max_offset();
  if (covers_map()) return mapped(map_->positions_by_rank.back());
  std::vector<std::int64_t> ranks = to_vector();
  return *std::max_element(ranks.begin(), ranks.end());
}

std::vector<std::int64_t> RankList::to_vector() const {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(size_));
  for (std::int64_t index = 0; index < size_; ++index)
    ranks[static_cast<std::size_t>(index)] = (*this)[index];
  return ranks;
}

bool operator==(const RankList& a, const RankList& b) {
  if (a.size_ != b.size_) return false;
  if (a.size_ == 0) return true;
  // A list of positions has one layout, so two lists over one map are equal exactly if their
  // layouts are.
  if (a.map_ == b.map_) return a.start_ == b.start_ && a.layout_ == b.layout_;
  for (std::int64_t index = 0; index < a.size_; ++index)
    if (a[index] != b[index]) return false;
  return true;
}

std::size_t RankList::hash() const {
  // Hashes a few members, chosen by position only: they are the same however the list is kept, and
  // cheap to get.
  FoldHash hash(static_cast<std::uint64_t>(size_));
  constexpr std::int64_t samples = 4;
  if (size_ > 1) hash.fold(static_cast<std::uint64_t>((*this)[1]));
  for (std::int64_t sample = 0; sample <= samples && size_ > 0; ++sample)
    hash.fold(static_cast<std::uint64_t>((*this)[(size_ - 1) * sample / samples]));
  return static_cast<std::size_t>(hash.value());
}

std::string to_string(const RankList& ranks) {
  if (ranks.size() > members_shown_max)
    return fmt::format("[{}, {}, ..., {}]", ranks[0], ranks[1], ranks[ranks.size() - 1]);
  return fmt::format("[{}]", join_text(ranks.to_vector(), ", "));
}

}  // namespace simmesh
