#include "replay/analysis/align_comms.h"

#include <algorithm>
#include <utility>

namespace simmesh::replay {

namespace {

using Marks = gsl::span<const CommMark>;

// MarkPair is the places of two marks that are counterparts.
struct MarkPair {
  std::size_t first = 0;
  std::size_t second = 0;
};
using MarkPairs = std::vector<MarkPair>;

double overlap_us(const CommMark& a, const CommMark& b) {
  return std::min(a.end_us, b.end_us) - std::max(a.begin_us, b.begin_us);
}

// LongestCommon finds a longest common sequence of labels, by the algorithm of Myers (1986): the
// furthest places that are reached with 0, 1, 2, ... differences, by diagonal.
class LongestCommon {
 public:
  LongestCommon(Marks first, Marks second)
      : first_(first),
        second_(second),
        n_(std::int64_t(first.size())),
        m_(std::int64_t(second.size())) {}

  MarkPairs pairs() {
    if (n_ == 0 || m_ == 0) return {};
    std::int64_t most = std::min(n_ + m_, differences_max);
    for (std::int64_t differences = 0; differences <= most; ++differences)
      if (extend(differences)) return walk_back(differences, n_ - m_);
    return walk_back(most, furthest_diagonal(most));
  }

 private:
  // The reach of a diagonal k with d differences is in reached_[d][k + d].
  std::int64_t reach_before(std::int64_t d, std::int64_t k) const {
    auto reach = [&](std::int64_t diagonal) {
      bool is_there = d > 0 && diagonal >= -(d - 1) && diagonal <= d - 1;
      return is_there ? reached_[std::size_t(d - 1)][std::size_t(diagonal + d - 1)] : -1;
    };
    if (d == 0) return 0;
    if (takes_second(d, k)) return reach(k + 1);
    return reach(k - 1) < 0 ? -1 : reach(k - 1) + 1;
  }

  // True if the last difference before diagonal k is an entry of `second` alone.
  bool takes_second(std::int64_t d, std::int64_t k) const {
    if (k == -d) return true;
    if (k == d) return false;
    const std::vector<std::int64_t>& before = reached_[std::size_t(d - 1)];
    auto at = [&](std::int64_t diagonal) {
      std::int64_t place = diagonal + d - 1;
      return place < 0 || place >= std::int64_t(before.size()) ? -1 : before[std::size_t(place)];
    };
    return at(k - 1) < at(k + 1);
  }

  bool extend(std::int64_t d) {
    reached_.emplace_back(std::size_t(2 * d + 1), -1);
    for (std::int64_t k = -d; k <= d; k += 2) {
      std::int64_t x = reach_before(d, k);
      if (x < 0 || x > n_ || x - k < 0 || x - k > m_) continue;
      while (x < n_ && x - k < m_ &&
             first_[std::size_t(x)].label == second_[std::size_t(x - k)].label)
        ++x;
      reached_.back()[std::size_t(k + d)] = x;
      if (x >= n_ && x - k >= m_) return true;
    }
    return false;
  }

  std::int64_t furthest_diagonal(std::int64_t d) const {
    std::int64_t best = -d, furthest = -1;
    for (std::int64_t k = -d; k <= d; k += 2) {
      std::int64_t x = reached_[std::size_t(d)][std::size_t(k + d)];
      if (x >= 0 && 2 * x - k > furthest) {
        furthest = 2 * x - k;
        best = k;
      }
    }
    return best;
  }

  MarkPairs walk_back(std::int64_t d, std::int64_t k) const {
    MarkPairs pairs;
    std::int64_t x = reached_[std::size_t(d)][std::size_t(k + d)];
    for (; d >= 0; --d) {
      std::int64_t begin = reach_before(d, k);
      for (; x > begin; --x) pairs.push_back({std::size_t(x - 1), std::size_t(x - 1 - k)});
      if (d == 0) break;
      bool is_second = takes_second(d, k);
      x = is_second ? begin : begin - 1;
      k += is_second ? 1 : -1;
    }
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

  Marks first_;
  Marks second_;
  std::int64_t n_;
  std::int64_t m_;
  std::vector<std::vector<std::int64_t>> reached_;
};

// by_time pairs what overlaps. Collectives of a group run one after another, so the next one
// overlaps by a few microseconds at most; the longest overlap counts.
MarkPairs by_time(Marks first, Marks second) {
  MarkPairs pairs;
  auto fits_better = [&](std::size_t i, std::size_t j, double than_us) {
    return i < first.size() && j < second.size() && first[i].label == second[j].label &&
           overlap_us(first[i], second[j]) > than_us;
  };
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    bool is_pair = first[i].label == second[j].label && overlaps(first[i], second[j]);
    double overlap = overlap_us(first[i], second[j]);
    if (is_pair && fits_better(i + 1, j, overlap)) {
      ++i;
    } else if (is_pair && fits_better(i, j + 1, overlap)) {
      ++j;
    } else if (is_pair) {
      pairs.push_back({i++, j++});
    } else if (first[i].end_us <= second[j].end_us) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

// Returns how many of the pairs overlap, and for how long.
std::pair<std::size_t, double> overlap_of(Marks first, Marks second, const MarkPairs& pairs) {
  std::pair<std::size_t, double> sum;
  for (const MarkPair& pair : pairs) {
    if (!overlaps(first[pair.first], second[pair.second])) continue;
    ++sum.first;
    sum.second += overlap_us(first[pair.first], second[pair.second]);
  }
  return sum;
}

bool contradicts(const CommMark& a, const CommMark& b) {
  return a.leaves_together && b.leaves_together && !overlaps(a, b);
}

// fill_gaps adds pairs by label between those that overlap, where times allow it.
MarkPairs fill_gaps(Marks first, Marks second, const MarkPairs& anchors) {
  MarkPairs pairs;
  std::size_t i = 0, j = 0;
  auto fill_up_to = [&](std::size_t end_i, std::size_t end_j) {
    if (i < end_i && j < end_j)
      for (MarkPair pair :
           LongestCommon(first.subspan(i, end_i - i), second.subspan(j, end_j - j)).pairs())
        if (!contradicts(first[i + pair.first], second[j + pair.second]))
          pairs.push_back({i + pair.first, j + pair.second});
  };
  for (MarkPair anchor : anchors) {
    fill_up_to(anchor.first, anchor.second);
    pairs.push_back(anchor);
    i = anchor.first + 1;
    j = anchor.second + 1;
  }
  fill_up_to(first.size(), second.size());
  return pairs;
}

}  // namespace

bool overlaps(const CommMark& a, const CommMark& b) {
  double overlap = overlap_us(a, b);
  bool is_moment = a.begin_us == a.end_us || b.begin_us == b.end_us;
  return overlap > 0 || (overlap == 0 && is_moment);
}

std::vector<std::optional<std::uint32_t>> align_comms(Marks first, Marks second) {
  MarkPairs pairs = LongestCommon(first, second).pairs();
  bool is_whole = pairs.size() == first.size() && pairs.size() == second.size();
  bool is_contradicted = std::any_of(pairs.begin(), pairs.end(), [&](const MarkPair& pair) {
    return contradicts(first[pair.first], second[pair.second]);
  });
  if (!is_whole || is_contradicted) {
    MarkPairs timed = by_time(first, second);
    if (overlap_of(first, second, timed) > overlap_of(first, second, pairs))
      pairs = fill_gaps(first, second, timed);
  }
  std::vector<std::optional<std::uint32_t>> counterparts(second.size());
  for (MarkPair pair : pairs) counterparts[pair.second] = std::uint32_t(pair.first);
  return counterparts;
}

}  // namespace simmesh::replay
