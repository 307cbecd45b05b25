#include "core/arithmetic/sums/unrounded_sums.h"

#include <algorithm>

#include "core/tensor/shape.h"

namespace simmesh {

namespace {

bool begins_before(const SumRun& a, const SumRun& b) { return a.begin < b.begin; }

bool are_contiguous(const ElementPlaces& places) {
  std::int64_t stride = 1;
  for (std::size_t dim = std::size_t(places.shape.size()); dim-- > 0;) {
    if (places.shape[dim] != 1 && places.strides[dim] != stride) return false;
    stride *= places.shape[dim];
  }
  return true;
}

// Calls f(byte) for each element, in row-major order.
template <class F>
void each_place(const ElementPlaces& places, F&& f) {
  Dims index(places.shape.size(), 0);
  do {
    std::int64_t at = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) at += index[dim] * places.strides[dim];
    f(std::int64_t(places.begin) + at * std::int64_t(places.element_bytes));
  } while (next_index(index, places.shape));
}

// Returns the runs of a copy. A contiguous source's runs are moved as they are, others go element
// by element; elements that are neighbours in source and target join one run.
SumRuns copied_runs(const SumRuns& runs, const ElementPlaces& source, const ElementPlaces& target) {
  SumRuns copied;
  auto element = std::int64_t(source.element_bytes);
  if (are_contiguous(source) && are_contiguous(target)) {
    auto from = std::int64_t(source.begin), to = from + numel(source.shape) * element;
    for (const SumRun& run : runs)
      if (auto part = run.within(from, to)) {
        part->begin += std::int64_t(target.begin) - from;
        copied.push_back(*part);
      }
    return copied;
  }
  std::vector<std::int64_t> places;
  each_place(source, [&](std::int64_t place) { places.push_back(place); });
  std::size_t next = 0;
  each_place(target, [&](std::int64_t place) {
    std::int64_t from = places[next++];
    auto run = std::upper_bound(runs.begin(), runs.end(), from,
                                [](std::int64_t at, const SumRun& one) { return at < one.begin; });
    if (run == runs.begin()) return;
    --run;
    if (from >= run->end()) return;
    std::int64_t at = run->first + (from - run->begin) / element;
    if (!copied.empty() && copied.back().end() == place && copied.back().sums == run->sums &&
        copied.back().first + copied.back().count == at)
      ++copied.back().count;
    else
      copied.push_back({place, 1, element, run->sums, at, run->is_root});
  });
  std::sort(copied.begin(), copied.end(), begins_before);
  return copied;
}

struct Bytes {
  std::int64_t begin, end;
};

// Returns the bytes of the elements, in order; neighbours are one range.
std::vector<Bytes> bytes_of(const ElementPlaces& places) {
  auto element = std::int64_t(places.element_bytes);
  auto begin = std::int64_t(places.begin);
  if (are_contiguous(places)) return {{begin, begin + numel(places.shape) * element}};
  std::vector<Bytes> ranges;
  each_place(places, [&](std::int64_t place) {
    if (!ranges.empty() && ranges.back().end == place)
      ranges.back().end += element;
    else
      ranges.push_back({place, place + element});
  });
  std::sort(ranges.begin(), ranges.end(),
            [](const Bytes& a, const Bytes& b) { return a.begin < b.begin; });
  return ranges;
}

// Returns the runs without those parts in the ranges, which are in order.
SumRuns runs_outside(const SumRuns& runs, const std::vector<Bytes>& ranges) {
  SumRuns rest;
  for (const SumRun& run : runs) {
    std::int64_t from = run.begin;
    auto range = std::partition_point(ranges.begin(), ranges.end(),
                                      [&](const Bytes& one) { return one.end <= run.begin; });
    for (; range != ranges.end() && range->begin < run.end(); ++range) {
      if (auto part = run.within(from, range->begin)) rest.push_back(*part);
      from = range->end;
    }
    if (auto part = run.within(std::min(from, run.end()), run.end())) rest.push_back(*part);
  }
  return rest;
}

}  // namespace

bool SumRun::operator==(const SumRun& other) const {
  return begin == other.begin && count == other.count && element_bytes == other.element_bytes &&
         first == other.first && is_root == other.is_root &&
         (sums == other.sums || *sums == *other.sums);
}

std::optional<SumRun> SumRun::within(std::int64_t from, std::int64_t to) const {
  std::int64_t skipped = std::max<std::int64_t>(from - begin + element_bytes - 1, 0);
  skipped /= element_bytes;
  std::int64_t kept = std::min(count, (to - begin) / element_bytes) - skipped;
  if (to <= begin || kept <= 0) return std::nullopt;
  return SumRun{
      begin + skipped * element_bytes, kept, element_bytes, sums, first + skipped, is_root};
}

CompanionPtr UnroundedSums::make(SumRuns runs) {
  return runs.empty() ? nullptr : CompanionPtr(new UnroundedSums(std::move(runs)));
}

CompanionPtr UnroundedSums::joined(const CompanionPtr& before, const SumRun& run) {
  SumRuns runs;
  if (before) runs = of(before)->outside(run.begin, run.end());
  runs.insert(std::upper_bound(runs.begin(), runs.end(), run, begins_before), run);
  return make(std::move(runs));
}

CompanionPtr UnroundedSums::slice(const ByteRange& range) const {
  SumRuns kept;
  auto from = std::int64_t(range.begin), to = from + std::int64_t(range.count);
  for (const SumRun& run : runs_)
    if (auto part = run.within(from, to)) {
      part->begin -= from;
      kept.push_back(*part);
    }
  return make(std::move(kept));
}

CompanionPtr UnroundedSums::without(const ByteRange& range) const {
  auto from = std::int64_t(range.begin), to = from + std::int64_t(range.count);
  bool overlaps = std::any_of(runs_.begin(), runs_.end(), [&](const SumRun& run) {
    return run.begin < to && from < run.end();
  });
  return overlaps ? make(outside(from, to)) : CompanionPtr(this);
}

// Returns the runs without those parts in a range.
SumRuns UnroundedSums::outside(std::int64_t from, std::int64_t to) const {
  SumRuns rest;
  for (const SumRun& run : runs_) {
    if (auto part = run.within(run.begin, std::min(from, run.end()))) rest.push_back(*part);
    if (auto part = run.within(std::max(to, run.begin), run.end())) rest.push_back(*part);
  }
  return rest;
}

CompanionPtr UnroundedSums::with_copy(const CompanionPtr& before, const ElementPlaces& source,
                                      const ElementPlaces& target) const {
  SumRuns copied = copied_runs(runs_, source, target);
  if (before) {
    SumRuns rest = runs_outside(of(before)->runs(), bytes_of(target));
    copied.insert(copied.end(), rest.begin(), rest.end());
    std::sort(copied.begin(), copied.end(), begins_before);
  }
  return make(std::move(copied));
}

}  // namespace simmesh
