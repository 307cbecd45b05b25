#include "gate/records/memory_samples.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace simmesh {

namespace {

constexpr std::size_t samples_max = 128;

// EqualRanks are the ranks whose samples are equal to those of the first of them.
struct EqualRanks {
  std::vector<std::size_t> ranks;
  std::int64_t peak = 0;
};

std::string title_of_ranks(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t named_max = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.back() - ranks.front() + 1 == ranks.size())
    return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
  std::string text = "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), named_max); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
  if (ranks.size() > named_max) text += fmt::format(" and {} more", ranks.size() - named_max);
  return text;
}

std::int64_t peak_of(const PageCurve& curve) {
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < curve.at.size(); ++i) {
    std::int64_t sum = 0;
    for (const auto& category : curve.bytes) sum += category[i];
    peak = std::max(peak, sum);
  }
  return peak;
}

}  // namespace

void MemorySamples::add(const Bytes& bytes) {
  Sample sample{operations_++, std::accumulate(bytes.begin(), bytes.end(), std::int64_t(0)), bytes};
  if (!samples_.empty() &&
      sample.at < samples_.back().at / in_a_sample_ * in_a_sample_ + in_a_sample_) {
    if (sample.sum >= samples_.back().sum) samples_.back() = sample;
    return;
  }
  if (samples_.size() == samples_max) halve();
  samples_.push_back(sample);
}

void MemorySamples::halve() {
  in_a_sample_ *= 2;
  for (std::size_t i = 0; 2 * i + 1 < samples_.size(); ++i) {
    const Sample &first = samples_[2 * i], &second = samples_[2 * i + 1];
    samples_[i] = second.sum >= first.sum ? second : first;
  }
  samples_.resize(samples_.size() / 2);
}

PageCurve MemorySamples::curve() const {
  PageCurve curve;
  curve.bytes.resize(memory_category_count);
  for (const Sample& sample : samples_) {
    curve.at.push_back(sample.at);
    for (std::size_t i = 0; i < memory_category_count; ++i)
      curve.bytes[i].push_back(sample.bytes[i]);
  }
  return curve;
}

MemorySamples::Bytes bytes_now(const Ledger& ledger) {
  MemorySamples::Bytes bytes{};
  for (std::size_t i = 0; i < memory_category_count; ++i)
    bytes[i] = ledger.of(MemoryCategory(i)).current;
  return bytes;
}

JsonValue memory_section_of(const std::vector<MemorySamples>& ranks, std::size_t curves_max) {
  std::vector<EqualRanks> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].is_empty()) continue;
    auto known = std::find_if(groups.begin(), groups.end(), [&](const EqualRanks& group) {
      return ranks[group.ranks[0]] == ranks[rank];
    });
    if (known == groups.end())
      known = groups.insert(groups.end(), EqualRanks{{}, peak_of(ranks[rank].curve())});
    known->ranks.push_back(rank);
  }
  if (groups.empty()) return {};
  std::stable_sort(groups.begin(), groups.end(),
                   [](const EqualRanks& a, const EqualRanks& b) { return a.peak > b.peak; });
  if (groups.size() > curves_max) groups.resize(curves_max);
  PageCurves curves{.unit = "operation", .categories = {}, .curves = {}};
  for (std::size_t i = 0; i < memory_category_count; ++i)
    curves.categories.emplace_back(to_string(MemoryCategory(i)));
  for (const EqualRanks& group : groups) {
    curves.curves.push_back(ranks[group.ranks[0]].curve());
    curves.curves.back().title = title_of_ranks(group.ranks);
  }
  return memory_section(curves);
}

}  // namespace simmesh
