#include "checkpoint/torch_file/torch_archive.h"

#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/catalog/box.h"
#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "checkpoint/torch_file/pickle_writer.h"
#include "checkpoint/torch_file/torch_types.h"
#include "checkpoint/torch_file/torch_view.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::size_t member_alignment = 64;
constexpr std::size_t serialization_id_digits = 40;

template <class... Args>
[[noreturn]] void refuse_archive(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::value_error, "checkpoint/torch_archive",
              fmt::format(format, std::forward<Args>(args)...));
}

// Returns the members by the part of their name after the first '/'. The part before it is any
// word.
class Members {
 public:
  explicit Members(Bytes archive) : members_(read_zip(archive)) {
    if (const ZipMember* order = find("byteorder"))
      if (text_of(*order) != "little") refuse_archive("expected the byte order little");
  }

  const ZipMember& get(std::string_view name) const {
    const ZipMember* member = find(name);
    if (member == nullptr) refuse_archive("an archive without the member {}", name);
    return *member;
  }

 private:
  const ZipMember* find(std::string_view name) const {
    for (const ZipMember& member : members_)
      if (std::string_view(member.name).substr(member.name.find('/') + 1) == name) return &member;
    return nullptr;
  }
  static std::string_view text_of(const ZipMember& member) {
    return {reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size()};
  }

  std::vector<ZipMember> members_;
};

}  // namespace

ArchivedTensor read_torch_tensor(Bytes archive) {
  Members members(archive);
  Pickle pickle(members.get("data.pkl").bytes);
  TorchView view = read_torch_view(pickle.root());
  const std::vector<std::byte>& data = members.get("data/" + view.storage).bytes;
  check_torch_storage(view, std::int64_t(data.size()));
  auto width = std::size_t(bits_per_element(view.dtype) / 8);
  ArchivedTensor tensor = {view.dtype, view.shape, {}};
  std::int64_t elements = numel(tensor.shape);
  tensor.bytes.resize(std::size_t(elements) * width);
  if (elements > 0)
    copy_box({.sizes = tensor.shape,
              .element_bytes = width,
              .from_strides = view.strides,
              .to_strides = contiguous_strides(tensor.shape)},
             data.data() + std::size_t(view.offset) * width, tensor.bytes.data());
  return tensor;
}

JsonValue read_torch_object(Bytes archive) {
  Members members(archive);
  Pickle pickle(members.get("data.pkl").bytes);
  return json_of(pickle.root());
}

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  auto bytes = gsl::as_bytes(gsl::span<const char>(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> archive_of(std::vector<std::byte> pickle, const Bytes* data) {
  std::uint64_t mark = bits_hash(pickle) ^ (data == nullptr ? 0 : bits_hash(*data));
  std::string id = fmt::format("{:0{}}", mark, serialization_id_digits);
  std::vector<ZipMember> members;
  members.push_back({"archive/data.pkl", std::move(pickle)});
  members.push_back({"archive/.format_version", bytes_of("1")});
  members.push_back({"archive/.storage_alignment", bytes_of("64")});
  members.push_back({"archive/byteorder", bytes_of("little")});
  if (data != nullptr) members.push_back({"archive/data/0", {data->begin(), data->end()}});
  members.push_back({"archive/version", bytes_of("3\n")});
  members.push_back({"archive/.data/serialization_id", bytes_of(id)});
  return zip_of(members, member_alignment);
}

}  // namespace

std::vector<std::byte> torch_tensor_archive(StoredDType dtype, DimSpan shape, Bytes bytes) {
  if (torch_dtype_name(dtype).empty())
    refuse_archive("PyTorch has no storage class for elements of {}", to_string(dtype));
  // Newer dtypes have a storage of bytes, and their name comes last.
  std::string_view storage = torch_storage_name(dtype);
  bool is_untyped = storage.empty();
  PickleWriter pickle(PickleWriter::Protocol::two);
  pickle.global("torch._utils", is_untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  pickle.begin_tuple();
  pickle.begin_tuple();
  pickle.text("storage");
  if (is_untyped)
    pickle.global("torch.storage", "UntypedStorage");
  else
    pickle.global("torch", storage);
  pickle.text("0");
  pickle.text("cpu");
  pickle.integer(is_untyped ? std::int64_t(bytes.size()) : numel(shape));
  pickle.end_tuple();
  pickle.persistent();
  pickle.integer(0);
  pickle.integers(shape);
  pickle.integers(contiguous_strides(shape));
  pickle.flag(false);
  pickle.global("collections", "OrderedDict");
  pickle.integers({});
  pickle.reduce();
  if (is_untyped) pickle.global("torch", torch_dtype_name(dtype));
  pickle.end_tuple();
  pickle.reduce();
  return archive_of(pickle.finish(), &bytes);
}

std::vector<std::byte> torch_object_archive(const JsonValue& value) {
  PickleWriter pickle(PickleWriter::Protocol::two);
  pickle.json(value);
  return archive_of(pickle.finish(), nullptr);
}

}  // namespace simmesh::checkpoint
