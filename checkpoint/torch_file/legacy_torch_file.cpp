#include "checkpoint/torch_file/legacy_torch_file.h"

#include <algorithm>

#include "checkpoint/torch_file/torch_types.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

// The pickle of the mark, in protocol 2.
constexpr std::string_view mark("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
constexpr std::size_t pickles = 5;  // mark, version, machine, value, keys

[[noreturn]] void refuse_legacy(const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/torch_file", "{}", why);
}

// Reads the pickles at the begin of a file, and sets `end` to their bytes. Their length isn't
// known, so it reads twice as many bytes until they are whole.
std::vector<Pickle> read_pickles(const Store& store, const std::string& path, std::int64_t size,
                                 std::int64_t& end) {
  for (std::int64_t part = std::min<std::int64_t>(size, 1 << 20);;
       part = part > size / 2 ? size : 2 * part) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(part));
    store.read(path, 0, bytes);
    std::vector<Pickle> read;
    std::size_t at = 0, length = 0;
    while (read.size() < pickles) {
      std::optional<Pickle> next = Pickle::first(Bytes(bytes).subspan(at), length);
      if (!next) break;
      read.push_back(std::move(*next));
      at += length;
    }
    end = std::int64_t(at);
    if (read.size() == pickles) return read;
    if (part == size) refuse_legacy("the file ends within its pickles");
  }
}

// Returns the bytes of an element of each storage, by its key.
std::map<std::string, std::int64_t> element_bytes(const Pickle& pickle) {
  std::map<std::string, std::int64_t> result;
  for (const PickleNode& node : pickle.values()) {
    if (node.kind != Kind::persistent || node.items[0]->kind != Kind::tuple) continue;
    const std::vector<PickleValue>& id = node.items[0]->items;
    if (id.size() < 5 || id[1]->kind != Kind::global || id[2]->kind != Kind::text) continue;
    std::string_view name = id[1]->text;
    auto dtype = find_torch_storage(name.substr(name.rfind('.') + 1));
    bool is_half_complex = name.ends_with(".ComplexHalfStorage");
    if (dtype || is_half_complex)
      result[id[2]->text] = is_half_complex ? 4 : bits_per_element(*dtype) / 8;
    else if (name.ends_with("QInt32Storage"))
      result[id[2]->text] = 4;
    else  // bytes, and quantised elements
      result[id[2]->text] = 1;
  }
  return result;
}

}  // namespace

bool is_legacy_torch_file(const Store& store, const std::string& path) {
  if (store.size(path).value_or(0) < std::int64_t(mark.size())) return false;
  std::vector<std::byte> bytes(mark.size());
  store.read(path, 0, bytes);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == mark;
}

LegacyTorchFile read_legacy_torch_file(const Store& store, const std::string& path) {
  std::int64_t size = store.size(path).value_or(0), at = 0;
  std::vector<Pickle> read = read_pickles(store, path, size, at);
  if (read[2].root()->kind == Kind::dict)
    if (PickleValue little = find_field(read[2].root(), "little_endian");
        little != nullptr && little->kind == Kind::boolean && !little->flag)
      refuse_legacy("expected the byte order little");
  LegacyTorchFile file = {std::move(read[3]), {}};
  std::map<std::string, std::int64_t> widths = element_bytes(file.value);
  for (PickleValue key : as_items(read[4].root(), "the keys of storages")) {
    const std::string& name = as_text(key, "a storage's key");
    auto width = widths.find(name);
    if (width == widths.end()) refuse_legacy(fmt::format("no tensor has the storage {}", name));
    std::uint64_t count = 0;
    std::vector<std::byte> number(sizeof count);
    if (size - at < std::int64_t(sizeof count)) refuse_legacy("the file ends within its storages");
    store.read(path, at, number);
    for (std::size_t i = number.size(); i-- > 0;)
      count = count << 8 | std::to_integer<std::uint64_t>(number[i]);
    at += std::int64_t(sizeof count);
    if (count > std::uint64_t((size - at) / width->second))
      refuse_legacy(fmt::format("the storage {} of {} elements ends after the file", name, count));
    std::int64_t bytes = std::int64_t(count) * width->second;
    file.storages["data/" + name] = {"data/" + name, at, bytes, 0};
    at += bytes;
  }
  if (at != size) refuse_legacy("there are bytes behind the last storage");
  return file;
}

}  // namespace simmesh::checkpoint
