#include "checkpoint/dcp/dcp_checkpoint.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/dcp/dcp_writer.h"
#include "checkpoint/format/formats.h"
#include "checkpoint/format/new_folder.h"
#include "checkpoint/torch_file/torch_types.h"

namespace simmesh::checkpoint {

namespace {

std::optional<OpenCheckpoint> open_dcp(const Location& location) {
  if (!location.store->size(joined(location.name, dcp_metadata_file))) return std::nullopt;
  return OpenCheckpoint{read_dcp(*location.store, location.name), location.name};
}

void write_dcp(const CheckpointSource& source, const Location& to, const WriteOptions&) {
  in_new_folder(to, [&] {
    DcpWriter writer(*to.store, to.name);
    for (const StoredObject& object : source.catalog.objects) writer.add(object);
    for (const StoredTensor& tensor : source.catalog.tensors) {
      std::vector<Box> boxes;
      for (const StoredChunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
      writer.add(tensor, boxes,
                 [&](std::size_t i) { return source.chunk_bytes(tensor, tensor.chunks[i]); });
    }
    writer.finish();
  });
}

bool is_torch_dtype(StoredDType dtype) { return !torch_dtype_name(dtype).empty(); }

}  // namespace

const Format dcp_format = {.name = "dcp",
                           .title = "PyTorch's DCP",
                           .marks = dcp_metadata_file,
                           .opens = open_dcp,
                           .writes = write_dcp,
                           .holds = is_torch_dtype,
                           .decodes = read_dcp_chunk};

}  // namespace simmesh::checkpoint
