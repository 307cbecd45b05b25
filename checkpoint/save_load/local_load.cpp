#include "checkpoint/save_load/local_load.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "checkpoint/read/chunk_reader.h"
#include "checkpoint/read/exchange.h"
#include "checkpoint/save_load/local_record.h"
#include "collectives/collectives.h"
#include "core/memory/ledger.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::checkpoint {

namespace {

bool is_same(const StoredTensor& stored, const LocalTensor& local) {
  return stored.name == local.name && stored.shape == local.shape &&
         stored.dtype == stored_dtype(local.dtype) &&
         std::equal(
             stored.chunks.begin(), stored.chunks.end(), local.pieces.begin(), local.pieces.end(),
             [](const StoredChunk& chunk, const Piece& piece) { return chunk.box == piece.box; });
}

// True if a rank wants exactly what its record has, in the same order.
bool matches(const LocalRecord& record, const StateDict& state,
             const std::vector<LocalTensor>& locals, const ProcessGroup& group) {
  if (record.world != group.size() || record.rank != group.rank()) return false;
  std::set<std::string_view> recorded;
  for (const StoredObject& object : record.catalog.objects) recorded.insert(object.name);
  std::size_t objects = 0;
  for (const StateDict::Entry& entry : state.entries())
    if (std::holds_alternative<JsonValue>(entry.value)) {
      if (!recorded.contains(entry.name)) return false;
      ++objects;
    }
  return objects == record.catalog.objects.size() &&
         std::equal(record.catalog.tensors.begin(), record.catalog.tensors.end(), locals.begin(),
                    locals.end(), is_same);
}

// Reduces the numbers of all ranks to one.
std::int64_t reduced(std::int64_t number, ReduceOp op, const ProcessGroup& group) {
  Ledger::Uncharged host;
  Tensor all = all_reduce(full(Shape{1}, DType::int64, double(number)), op, group);
  return known_tensor(all, "numbers of a load").values<std::int64_t>()[0];
}

}  // namespace

std::optional<LoadReport> load_local(StateDict& state, const std::vector<LocalTensor>& locals,
                                     const Location& location, const ProcessGroup& group) {
  std::optional<LocalRecord> record = read_local(*location.store, location.name, group.rank());
  bool is_match = record && matches(*record, state, locals, group);
  if (reduced(is_match ? 1 : 0, ReduceOp::min, group) == 0) return std::nullopt;
  std::int64_t bytes_read = 0;
  together(group, [&] {
    Ledger::Uncharged host;
    OpenCheckpoint checkpoint = {record->catalog, location.name};
    for (std::size_t i = 0; i < locals.size(); ++i) {
      const StoredTensor& tensor = checkpoint.catalog.tensors[i];
      for (std::size_t piece = 0; piece < tensor.chunks.size(); ++piece) {
        Tensor part = locals[i].pieces[piece].part;
        if (part.has_elements())
          ChunkReader(*location.store, checkpoint, tensor, tensor.chunks[piece]).read_all(part);
        bytes_read += std::int64_t(part.bytes());
      }
    }
  });
  for (const StoredObject& object : record->catalog.objects)
    state.set_loaded(object.name, object.value);
  LoadReport report;
  report.way = LoadWay::local;
  report.bytes_read = report.bytes_needed = reduced(bytes_read, ReduceOp::sum, group);
  return report;
}

}  // namespace simmesh::checkpoint
