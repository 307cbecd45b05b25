#include "checkpoint/save_load/local_record.h"

#include <charconv>
#include <fmt/format.h>

#include "checkpoint/catalog/manifest.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::int64_t local_bytes_max = std::int64_t{4} << 30;

std::uint64_t hash_of_record(std::string_view text) {
  return bits_hash(gsl::as_bytes(gsl::span<const char>(text.data(), text.size())));
}

// Takes and returns the text up to the next space or line end.
std::string_view next_word(std::string_view& text) {
  std::size_t end = std::min(text.find_first_of(" \n"), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::int64_t next_number(std::string_view& text) {
  std::string_view word = next_word(text);
  std::int64_t number = -1;
  auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (fault != std::errc() || end != word.data() + word.size() || number < 0)
    raise(ErrorKind::value_error, "checkpoint/local_record", "expected a number, got '{}'", word);
  return number;
}

}  // namespace

std::string local_file(std::int64_t rank) { return fmt::format("rank_{:05}.local", rank); }

std::string local_text(const LocalRecord& record) {
  std::string text =
      fmt::format("{} {}\n{}\n", record.world, record.rank, catalog_text(record.catalog));
  return fmt::format("{:016x}\n{}", hash_of_record(text), text);
}

LocalRecord parse_local(std::string_view text) {
  std::string_view hash = next_word(text);
  if (hash != fmt::format("{:016x}", hash_of_record(text)))
    raise(ErrorKind::value_error, "checkpoint/local_record", "the record is not what was written");
  LocalRecord record;
  record.world = next_number(text);
  record.rank = next_number(text);
  record.catalog = unchecked_catalog(text);
  return record;
}

std::optional<LocalRecord> read_local(const Store& store, const std::string& folder,
                                      std::int64_t rank) {
  if (store.size(folder)) return std::nullopt;
  std::string path = joined(folder, local_file(rank));
  if (!store.size(path)) return std::nullopt;
  try {
    if (!read_commit(store, folder)) return std::nullopt;
    return parse_local(read_text(store, path, local_bytes_max));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace simmesh::checkpoint
