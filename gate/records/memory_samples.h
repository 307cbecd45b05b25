#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/memory/ledger.h"
#include "core/page/sections.h"

namespace simmesh {

// MemorySamples is the memory of one rank over its operations, by category, in a bounded number of
// samples: where there are more operations, a sample stands for several in a row, and is the one
// with the most bytes.
class MemorySamples {
 public:
  using Bytes = std::array<std::int64_t, memory_category_count>;

  // add adds the bytes after an operation.
  void add(const Bytes& bytes);
  bool is_empty() const { return samples_.empty(); }
  // curve returns the samples without a title.
  PageCurve curve() const;

  bool operator==(const MemorySamples&) const = default;

 private:
  struct Sample {
    std::int64_t at = 0;
    std::int64_t sum = 0;
    Bytes bytes{};
    bool operator==(const Sample&) const = default;
  };

  void halve();

  std::vector<Sample> samples_;
  std::int64_t operations_ = 0;
  std::int64_t in_a_sample_ = 1;
};

// bytes_now returns what a ledger is charged now.
MemorySamples::Bytes bytes_now(const Ledger& ledger);

// memory_section_of returns the section of a report with the ranks whose peaks are the highest;
// ranks with equal samples are one curve. Null if there are no samples.
JsonValue memory_section_of(const std::vector<MemorySamples>& ranks, std::size_t curves_max);

}  // namespace simmesh
