#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/arithmetic/sums/carried_sums.h"
#include "core/memory/companion.h"

namespace simmesh {

// SumRun is a range of neighbouring elements of a buffer, from byte `begin` on, with their
// unrounded sums: those from `first` on in an array that runs share. The elements of roots are the
// square roots of the sums: these are moved, and additions read the elements.
struct SumRun {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t element_bytes;
  std::shared_ptr<const CarriedSums> sums;
  std::int64_t first;
  bool is_root = false;

  bool operator==(const SumRun& other) const;
  std::int64_t end() const { return begin + count * element_bytes; }
  // within returns the part of the run in a range of bytes, if any.
  std::optional<SumRun> within(std::int64_t from, std::int64_t to) const;
};
using SumRuns = std::vector<SumRun>;

// UnroundedSums are the unrounded sums of a buffer's elements, as its companion: runs in order of
// their begin, without overlaps. A copy of a buffer copies the runs, never the sums.
class UnroundedSums final : public Companion {
 public:
  explicit UnroundedSums(SumRuns runs) : runs_(std::move(runs)) {}

  // make returns null for no runs. of casts a companion to its only kind.
  static CompanionPtr make(SumRuns runs);
  static const UnroundedSums* of(const CompanionPtr& companion) {
    return static_cast<const UnroundedSums*>(companion.get());
  }
  // joined returns `before` with a run in place of the runs in its range.
  static CompanionPtr joined(const CompanionPtr& before, const SumRun& run);

  const SumRuns& runs() const { return runs_; }

  bool is_same(const Companion& other) const override {
    return runs_ == static_cast<const UnroundedSums&>(other).runs_;
  }
  CompanionPtr slice(const ByteRange& range) const override;
  CompanionPtr without(const ByteRange& range) const override;
  CompanionPtr with_copy(const CompanionPtr& before, const ElementPlaces& source,
                         const ElementPlaces& target) const override;

 private:
  SumRuns outside(std::int64_t from, std::int64_t to) const;

  SumRuns runs_;
};

}  // namespace simmesh
