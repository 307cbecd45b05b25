#include "checkpoint/tools/convert.h"

#include <string_view>
#include <vector>

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

}  // namespace

ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options) {
  const Format& format = written_format(options.format.name);
  const Store& store = *from.store;
  OpenCheckpoint opened = open(from);
  if (options.weights_only) keep_weights(opened.catalog, from);
  const Catalog& catalog = opened.catalog;
  ConvertReport report = {std::int64_t(catalog.tensors.size()),
                          std::int64_t(catalog.objects.size()), 0};
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
