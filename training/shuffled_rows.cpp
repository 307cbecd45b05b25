#include "training/shuffled_rows.h"

#include <bit>
#include <numeric>
#include <utility>

#include "core/check/error.h"
#include "core/engine/schedules/random_stream.h"

namespace simmesh {

namespace {

constexpr std::string_view rows_source = "training/shuffled_rows";
constexpr const char* data_name = "data";

std::int64_t integer_under(const JsonValue& value, std::string_view key) {
  const JsonValue* entry = value.get<JsonValue::Object>() ? value.find(key) : nullptr;
  const auto* number = entry == nullptr ? nullptr : entry->get<std::int64_t>();
  if (number == nullptr)
    raise(ErrorKind::value_error, rows_source,
          "'{}': expected an object of the integers rows, seed, epoch and row, got {}", data_name,
          value.text(60));
  return *number;
}

}  // namespace

ShuffledRows::ShuffledRows(const Options& options) : options_(options) {
  if (options.rows <= 0)
    raise(ErrorKind::value_error, rows_source, "expected at least one row, got {}", options.rows);
  begin_epoch();
}

void ShuffledRows::begin_epoch() {
  order_.resize(std::size_t(options_.rows));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  if (!options_.shuffles) return;
  RandomStream draws(options_.seed, std::uint64_t(place_.epoch));
  for (std::size_t left = order_.size(); left > 1; --left)
    std::swap(order_[left - 1], order_[draws.below(left)]);
}

std::vector<std::int64_t> ShuffledRows::next(std::int64_t count) {
  std::vector<std::int64_t> batch;
  while (std::int64_t(batch.size()) < count) {
    if (place_.row == options_.rows) {
      place_ = {place_.epoch + 1, 0};
      begin_epoch();
    }
    batch.push_back(order_[std::size_t(place_.row++)]);
  }
  return batch;
}

void ShuffledRows::set_place(const Place& place) {
  if (place.epoch < 0 || place.row < 0 || place.row > options_.rows)
    raise(ErrorKind::value_error, rows_source,
          "expected a place in {} rows, got row {} of epoch {}", options_.rows, place.row,
          place.epoch);
  place_ = place;
  begin_epoch();
}

void add_data_place(checkpoint::StateDict& state, ShuffledRows& rows) {
  JsonValue value = JsonValue::object();
  value.set("rows", JsonValue(rows.options().rows));
  value.set("seed", JsonValue(std::bit_cast<std::int64_t>(rows.options().seed)));
  value.set("epoch", JsonValue(rows.place().epoch));
  value.set("row", JsonValue(rows.place().row));
  state.add(data_name, std::move(value), [&rows](const JsonValue& loaded) {
    std::int64_t count = integer_under(loaded, "rows");
    auto seed = std::bit_cast<std::uint64_t>(integer_under(loaded, "seed"));
    if (count != rows.options().rows || seed != rows.options().seed)
      raise(ErrorKind::value_error, rows_source,
            "'{}': expected the place in {} rows with seed {}, got one in {} rows with seed {}",
            data_name, rows.options().rows, rows.options().seed, count, seed);
    rows.set_place({integer_under(loaded, "epoch"), integer_under(loaded, "row")});
  });
}

}  // namespace simmesh
