#include "checkpoint/tools/convert.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/read/open.h"
#include "checkpoint/read/read_tensor.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Leaves only the weights in a catalog, under the model's own names.
void keep_weights(Catalog& catalog, const Location& from) {
  std::vector<StoredTensor> weights;
  for (StoredTensor& tensor : catalog.tensors)
    for (std::string_view prefix : {"model.", "master."})
      if (tensor.name.starts_with(prefix)) {
        tensor.name.erase(0, prefix.size());
        weights.push_back(std::move(tensor));
        break;
      }
  if (weights.empty())
    raise(ErrorKind::value_error, "checkpoint/convert",
          "{}: expected tensors under 'model.' or 'master.', got none", from.text());
  catalog = {catalog.format, std::move(weights), {}, {}};
  check_catalog(catalog);
}

// Removes values of classes that aren't read, and returns the names of the classes.
std::vector<std::string> leave_out_unread(Catalog& catalog) {
  std::vector<std::string> classes;
  std::erase_if(catalog.objects, [&](StoredObject& object) {
    std::vector<std::string> names = remove_opaque(object.value);
    classes.insert(classes.end(), names.begin(), names.end());
    return !names.empty() && object.value.is_null();
  });
  return classes;
}

// Makes pairs of F4 elements where all boxes have an even number of them in the last dim.
void pair_elements(StoredTensor& tensor) {
  auto is_even = [](const StoredChunk& chunk) {
    return chunk.box.offsets.back() % 2 == 0 && chunk.box.sizes.back() % 2 == 0;
  };
  if (tensor.shape.empty() || tensor.shape.back() % 2 != 0 ||
      !std::all_of(tensor.chunks.begin(), tensor.chunks.end(), is_even))
    return;
  tensor.dtype = StoredDType::f4_x2;
  tensor.shape.back() /= 2;
  for (StoredChunk& chunk : tensor.chunks) {
    chunk.box.offsets.back() /= 2;
    chunk.box.sizes.back() /= 2;
  }
}

// Removes tensors whose dtype a format doesn't have, and returns their names and dtypes.
std::vector<std::string> leave_out_unheld(Catalog& catalog, const Format& format) {
  std::vector<std::string> names;
  if (!format.holds) return names;
  std::erase_if(catalog.tensors, [&](StoredTensor& tensor) {
    if (tensor.dtype == StoredDType::f4 && !format.holds(tensor.dtype)) pair_elements(tensor);
    if (format.holds(tensor.dtype)) return false;
    names.push_back(fmt::format("{} ({})", tensor.name, dtype_name(tensor.dtype)));
    return true;
  });
  return names;
}

}  // namespace

ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options) {
  const Format& format = written_format(options.format.name);
  const Store& store = *from.store;
  OpenCheckpoint opened = open(from);
  if (options.weights_only) keep_weights(opened.catalog, from);
  ConvertReport report;
  report.unread_classes = leave_out_unread(opened.catalog);
  report.unheld_tensors = leave_out_unheld(opened.catalog, format);
  const Catalog& catalog = opened.catalog;
  report.tensors = std::int64_t(catalog.tensors.size());
  report.objects = std::int64_t(catalog.objects.size());
  for (const StoredTensor& tensor : catalog.tensors) report.bytes += tensor.bytes();
  CheckpointSource source = {
      catalog, [&](const StoredTensor& tensor) { return read_tensor(store, opened, tensor); },
      [&](const StoredTensor& tensor, const StoredChunk& chunk) {
        return read_chunk(store, opened, tensor, chunk);
      }};
  format.writes(source, to, options.write);
  return report;
}

}  // namespace simmesh::checkpoint
