#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/spread/message_bytes.h"

namespace simmesh {

// took_another_way ends the error of processes that have gone apart.
inline constexpr std::string_view took_another_way =
    "the program takes another way there, so it depends on something else than known data";

// ProcessFrame is a message between processes with its place in the program, by which they notice
// that they have gone apart: the run, 0 outside any, and the number and name of the exchange there.
struct ProcessFrame {
  enum class Kind : std::uint8_t { exchange, failure, end, question };

  Kind kind = Kind::exchange;
  std::uint32_t run = 0;
  std::uint64_t number = 0;
  std::string name = {};
  ProcessBytes payload = {};

  // text is the place in words.
  std::string text() const {
    return fmt::format("{} ({} {} {})", name, kind == Kind::question ? "question" : "exchange",
                       number, run == 0 ? "outside any run" : fmt::format("of run {}", run));
  }
  // is_at is true for a frame of the same kind, run, number and name.
  bool is_at(const ProcessFrame& place) const {
    return kind == place.kind && run == place.run && number == place.number && name == place.name;
  }
};

// place_bytes_max is what the place of a frame adds to its payload, for a name of usual length.
// Payloads with so much room behind them aren't copied.
inline constexpr std::size_t place_bytes_max = 128;

// frame_bytes returns the bytes of a message with the place of a frame and another payload, which
// comes first.
inline ProcessBytes frame_bytes(const ProcessFrame& place, ProcessBytes payload) {
  MessageWriter writer(std::move(payload));
  writer.put_bytes(place.name.data(), place.name.size());
  writer.put(std::uint64_t(place.name.size()));
  writer.put(place.number);
  writer.put(place.run);
  writer.put(place.kind);
  return writer.take();
}

// frame_from returns the frame of such bytes.
inline ProcessFrame frame_from(ProcessBytes bytes) {
  constexpr std::size_t end_bytes =
      2 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(ProcessFrame::Kind);
  SIMMESH_CHECK(bytes.size() >= end_bytes, "{} bytes of a frame", bytes.size());
  gsl::span<const std::byte> all = bytes;
  MessageReader end(all.last(end_bytes));
  ProcessFrame frame;
  auto name_bytes = std::size_t(end.get<std::uint64_t>());
  frame.number = end.get<std::uint64_t>();
  frame.run = end.get<std::uint32_t>();
  frame.kind = end.get<ProcessFrame::Kind>();
  SIMMESH_CHECK(name_bytes <= bytes.size() - end_bytes, "{} bytes of a name", name_bytes);
  std::size_t payload_bytes = bytes.size() - end_bytes - name_bytes;
  gsl::span<const std::byte> name = all.subspan(payload_bytes, name_bytes);
  frame.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  bytes.shorten(payload_bytes);
  frame.payload = std::move(bytes);
  return frame;
}

}  // namespace simmesh
