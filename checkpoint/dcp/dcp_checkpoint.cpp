#include "checkpoint/dcp/dcp_checkpoint.h"

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "checkpoint/torch_file/torch_archive.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// The metadata of large checkpoints have hundreds of MiB.
constexpr std::int64_t metadata_bytes_max = std::int64_t{4} << 30;

// Calls `read`, and raises its errors with the place in front.
template <class Read>
auto at_place(const std::string& place, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.kind(), "checkpoint/dcp", fmt::format("{}: {}", place, error.message()));
  }
}

std::vector<std::byte> read_part(const Store& store, const std::string& path, std::int64_t begin,
                                 std::int64_t bytes) {
  std::int64_t size = store.size(path).value_or(0);
  if (begin > size || bytes > size - begin)
    raise(ErrorKind::value_error, "checkpoint/dcp", "{} bytes from {} on, in a file of {} bytes",
          bytes, begin, size);
  std::vector<std::byte> part(static_cast<std::size_t>(bytes));
  store.read(path, begin, part);
  return part;
}

// Reads a value that is no tensor: a file of torch.save, a pickle, or the bytes that a BytesIO had.
JsonValue read_value(const std::vector<std::byte>& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view archive_begin = "PK\3\4", archive_pickle = "/data.pkl";
  if (text.starts_with(archive_begin) && text.find(archive_pickle) != text.npos)
    return read_torch_object(bytes);
  constexpr char protocol_opcode = '\x80';
  if (text.starts_with(protocol_opcode)) {
    try {
      return json_of(Pickle(bytes).root());
    } catch (const Error&) {
      // Bytes may begin like a pickle.
    }
  }
  return tagged("$bytes", hexadecimal_text(text));
}

}  // namespace

Catalog read_dcp(const Store& store, const std::string& folder) {
  std::string path = joined(folder, dcp_metadata_file);
  DcpMetadata metadata = at_place(joined(store.name(), path), [&] {
    return read_dcp_metadata(read_file(store, path, metadata_bytes_max));
  });
  Catalog catalog = {"", std::move(metadata.tensors), {}, std::move(metadata.paths)};
  for (DcpMetadata::Object& object : metadata.objects) {
    std::string file = joined(folder, object.file);
    JsonValue value =
        at_place(fmt::format("{}: '{}'", joined(store.name(), file), object.name), [&] {
          if (!object.unread_tensor.empty())
            return opaque_value("torch.Tensor of " + object.unread_tensor);
          return read_value(read_part(store, file, object.begin, object.bytes));
        });
    catalog.objects.push_back({object.name, std::move(value), std::move(object.path)});
  }
  return catalog;
}

std::vector<std::byte> read_dcp_chunk(const Store& store, const std::string& folder,
                                      const StoredTensor& tensor, const StoredChunk& chunk) {
  std::string file = joined(folder, chunk.file);
  return at_place(fmt::format("{}: '{}'", joined(store.name(), file), tensor.name), [&] {
    ArchivedTensor read = read_torch_tensor(read_part(store, file, chunk.begin, chunk.bytes));
    if (read.dtype != tensor.dtype || read.shape != chunk.box.sizes)
      raise(ErrorKind::value_error, "checkpoint/dcp", "expected {}{}, got {}{}",
            dtype_name(tensor.dtype), to_string(chunk.box.sizes), dtype_name(read.dtype),
            to_string(read.shape));
    return std::move(read.bytes);
  });
}

}  // namespace simmesh::checkpoint
