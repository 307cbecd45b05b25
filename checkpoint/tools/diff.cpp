#include "checkpoint/tools/diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"

namespace simmesh::checkpoint {

namespace {

// Named is a tensor or another value of a checkpoint.
struct Named {
  const StoredTensor* tensor = nullptr;
  const StoredObject* object = nullptr;
};

using Names = std::map<std::string, Named>;

Names names_of(const Catalog& catalog) {
  Names names;
  for (const StoredTensor& tensor : catalog.tensors) names[tensor.name].tensor = &tensor;
  for (const StoredObject& object : catalog.objects) names[object.name].object = &object;
  return names;
}

std::string described(const Named& named) {
  if (named.tensor != nullptr)
    return fmt::format("{}{}", dtype_name(named.tensor->dtype), to_string(named.tensor->shape));
  return named.object == nullptr ? "" : "the value " + value_text(named.object->value);
}

// Describes the elements in which two tensors of one dtype and shape differ; empty if none does.
std::string elements_that_differ(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                                 const StoredTensor& tensor) {
  if (a == b) return "";
  std::int64_t bits = bits_per_element(tensor.dtype);
  auto width = std::size_t(std::max<std::int64_t>(bits / 8, 1));
  std::size_t count = 0, first = 0;
  for (std::size_t at = 0; at < a.size(); at += width)
    if (!std::equal(a.begin() + std::ptrdiff_t(at), a.begin() + std::ptrdiff_t(at + width),
                    b.begin() + std::ptrdiff_t(at)) &&
        count++ == 0)
      first = at / width;
  return fmt::format("{} of {} elements differ; the first has the row-major index {}", count,
                     a.size() / width, first);
}

std::string difference(const Named& a, const Named& b, const Store& first,
                       const OpenCheckpoint& in_first, const Store& second,
                       const OpenCheckpoint& in_second) {
  if (a.tensor == nullptr || b.tensor == nullptr || a.tensor->dtype != b.tensor->dtype ||
      a.tensor->shape != b.tensor->shape) {
    std::string there = described(a), here = described(b);
    return there == here ? "" : fmt::format("{} there, {} here", there, here);
  }
  return elements_that_differ(read_tensor(first, in_first, *a.tensor),
                              read_tensor(second, in_second, *b.tensor), *a.tensor);
}

}  // namespace

std::vector<Difference> diff(const Location& first, const Location& second) {
  OpenCheckpoint a = open(first), b = open(second);
  Names in_first = names_of(a.catalog), in_second = names_of(b.catalog);
  std::vector<Difference> differences;
  for (const auto& [name, named] : in_first) {
    auto other = in_second.find(name);
    std::string text = other == in_second.end()
                           ? "only in the first"
                           : difference(named, other->second, *first.store, a, *second.store, b);
    if (!text.empty()) differences.push_back({name, std::move(text)});
  }
  for (const auto& [name, named] : in_second)
    if (!in_first.contains(name)) differences.push_back({name, "only in the second"});
  std::sort(differences.begin(), differences.end(),
            [](const Difference& x, const Difference& y) { return x.name < y.name; });
  return differences;
}

}  // namespace simmesh::checkpoint
