#include "checkpoint/catalog/catalog.h"

#include <algorithm>
#include <numeric>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

template <class... Args>
[[noreturn]] void refuse_chunks(const StoredTensor& tensor, fmt::format_string<Args...> format,
                                Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/catalog", "tensor '{}' of shape {}: {}", tensor.name,
        simmesh::to_string(tensor.shape), fmt::format(format, std::forward<Args>(args)...));
}

// Finds two boxes that overlap, by a sweep over the dim with the most cuts.
void refuse_overlaps(const StoredTensor& tensor, std::vector<const Box*> boxes) {
  if (tensor.shape.empty()) {
    if (boxes.size() > 1) refuse_chunks(tensor, "{} chunks, expected one", boxes.size());
    return;
  }
  auto distinct_offsets = [&](std::size_t dim) {
    std::vector<std::int64_t> offsets;
    for (const Box* box : boxes) offsets.push_back(box->offsets[dim]);
    std::sort(offsets.begin(), offsets.end());
    return std::unique(offsets.begin(), offsets.end()) - offsets.begin();
  };
  std::size_t sweep = 0;
  for (std::size_t dim = 1, most = std::size_t(distinct_offsets(0)); dim < tensor.shape.size();
       ++dim)
    if (auto count = std::size_t(distinct_offsets(dim)); count > most) {
      most = count;
      sweep = dim;
    }
  std::sort(boxes.begin(), boxes.end(),
            [&](const Box* a, const Box* b) { return a->offsets[sweep] < b->offsets[sweep]; });
  std::vector<const Box*> open;
  for (const Box* box : boxes) {
    open.erase(
        std::remove_if(open.begin(), open.end(),
                       [&](const Box* other) { return other->end(sweep) <= box->offsets[sweep]; }),
        open.end());
    for (const Box* other : open)
      if (intersection(*box, *other))
        refuse_chunks(tensor, "the chunks {} and {} overlap", to_string(*other), to_string(*box));
    open.push_back(box);
  }
}

}  // namespace

std::int64_t StoredTensor::bytes() const {
  return (simmesh::numel(shape) * bits_per_element(dtype) + 7) / 8;
}

const StoredTensor* Catalog::find(std::string_view name) const {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

const StoredObject* Catalog::find_object(std::string_view name) const {
  auto found = std::find_if(objects.begin(), objects.end(),
                            [&](const StoredObject& object) { return object.name == name; });
  return found == objects.end() ? nullptr : &*found;
}

void check_chunks(const StoredTensor& tensor) {
  if (std::int64_t bits;
      __builtin_mul_overflow(simmesh::numel(tensor.shape), bits_per_element(tensor.dtype), &bits))
    refuse_chunks(tensor, "more than 2^60 bytes");
  std::vector<const Box*> filled;
  for (const StoredChunk& chunk : tensor.chunks) {
    if (!is_within(chunk.box, tensor.shape))
      refuse_chunks(tensor, "the chunk {} is outside", to_string(chunk.box));
    if (chunk.box.is_empty()) continue;
    filled.push_back(&chunk.box);
  }
  refuse_overlaps(tensor, filled);
  std::int64_t covered = 0;
  for (const Box* box : filled) covered += box->numel();
  std::int64_t expected = simmesh::numel(tensor.shape);
  if (covered != expected)
    refuse_chunks(tensor, "its chunks have {} of {} elements: a shard is missing", covered,
                  expected);
}

void check_catalog(const Catalog& catalog) {
  std::vector<std::string_view> names;
  for (const StoredTensor& tensor : catalog.tensors) {
    check_chunks(tensor);
    names.push_back(tensor.name);
  }
  for (const StoredObject& object : catalog.objects) names.push_back(object.name);
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    raise(ErrorKind::value_error, "checkpoint/catalog", "the name '{}' comes twice", *twice);
}

}  // namespace simmesh::checkpoint
