#include <fmt/format.h>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/torch_file/pickle_writer.h"
#include "checkpoint/torch_file/torch_types.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view metadata_module = "torch.distributed.checkpoint.metadata";

void begin_object(PickleWriter& out, std::string_view name) {
  out.global(metadata_module, name);
  out.new_object();
}

void put_size(PickleWriter& out, DimSpan sizes) {
  out.global("torch", "Size");
  out.begin_tuple();
  out.integers(sizes);
  out.end_tuple();
  out.reduce();
}

// Writes a call of a function or class with one argument.
template <class PutArgument>
void put_call(PickleWriter& out, std::string_view module, std::string_view name,
              const PutArgument& put_argument) {
  out.global(module, name);
  out.begin_tuple();
  put_argument();
  out.end_tuple();
  out.reduce();
}

// Writes five properties, which both releases read.
void put_properties(PickleWriter& out, const StoredTensor& tensor) {
  std::string_view dtype = torch_dtype_name(tensor.dtype);
  if (dtype.empty())
    raise(ErrorKind::value_error, "checkpoint/dcp", "'{}': PyTorch has no dtype for {}",
          tensor.name, to_string(tensor.dtype));
  begin_object(out, "TensorProperties");
  out.begin_tuple();
  out.global("torch", dtype);
  put_call(out, "torch.serialization", "_get_layout", [&] { out.text("torch.strided"); });
  out.flag(false);
  put_call(out, metadata_module, "_MEM_FORMAT_ENCODING", [&] { out.integer(0); });
  out.flag(false);
  out.end_tuple();
  out.build();
}

void put_tensor(PickleWriter& out, const StoredTensor& tensor) {
  begin_object(out, "TensorStorageMetadata");
  out.begin_dict();
  out.text("properties");
  put_properties(out, tensor);
  out.text("size");
  put_size(out, tensor.shape);
  out.text("chunks");
  out.begin_list();
  for (const StoredChunk& chunk : tensor.chunks) {
    begin_object(out, "ChunkStorageMetadata");
    out.begin_dict();
    out.text("offsets");
    put_size(out, chunk.box.offsets);
    out.text("sizes");
    put_size(out, chunk.box.sizes);
    out.end_dict();
    out.build();
  }
  out.end_list();
  out.end_dict();
  out.build();
}

void put_index(PickleWriter& out, const std::string& name, const std::size_t* index,
               const Dims* offsets) {
  begin_object(out, "MetadataIndex");
  out.begin_dict();
  out.text("fqn");
  out.text(name);
  out.text("index");
  if (index == nullptr)
    out.none();
  else
    out.integer(std::int64_t(*index));
  if (offsets != nullptr) {
    out.text("offset");
    put_size(out, *offsets);
  }
  out.end_dict();
  out.build();
}

void put_place(PickleWriter& out, const std::string& file, std::int64_t begin, std::int64_t bytes) {
  out.global("torch.distributed.checkpoint.filesystem", "_StorageInfo");
  out.new_object();
  out.begin_dict();
  out.text("relative_path");
  out.text(file);
  out.text("offset");
  out.integer(begin);
  out.text("length");
  out.integer(bytes);
  out.end_dict();
  out.build();
}

void put_places(PickleWriter& out, const DcpMetadata& metadata) {
  out.begin_dict();
  for (const StoredTensor& tensor : metadata.tensors)
    for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
      const StoredChunk& chunk = tensor.chunks[i];
      put_index(out, tensor.name, &i, &chunk.box.offsets);
      put_place(out, chunk.file, chunk.begin, chunk.bytes);
    }
  for (const DcpMetadata::Object& object : metadata.objects) {
    put_index(out, object.name, nullptr, nullptr);
    put_place(out, object.file, object.begin, object.bytes);
  }
  out.end_dict();
}

void put_paths(PickleWriter& out, const DcpMetadata& metadata) {
  out.begin_dict();
  for (const auto& [name, path] : metadata.paths) {
    out.text(name);
    out.begin_tuple();
    for (const JsonValue& part : path) out.json(part);
    out.end_tuple();
  }
  out.end_dict();
}

}  // namespace

std::vector<std::byte> dcp_metadata_pickle(const DcpMetadata& metadata) {
  PickleWriter out(PickleWriter::Protocol::four);
  begin_object(out, "Metadata");
  out.begin_dict();
  out.text("state_dict_metadata");
  out.begin_dict();
  for (const StoredTensor& tensor : metadata.tensors) {
    out.text(tensor.name);
    put_tensor(out, tensor);
  }
  for (const DcpMetadata::Object& object : metadata.objects) {
    out.text(object.name);
    begin_object(out, "BytesStorageMetadata");
  }
  out.end_dict();
  out.text("planner_data");
  put_paths(out, metadata);
  out.text("storage_data");
  put_places(out, metadata);
  out.text("storage_meta");
  out.none();
  out.text("version");
  out.text(metadata.version);
  out.end_dict();
  out.build();
  return out.finish();
}

}  // namespace simmesh::checkpoint
