#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

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

// frame_bytes returns the bytes of a message with the place of a frame and another payload.
inline ProcessBytes frame_bytes(const ProcessFrame& place, gsl::span<const std::byte> payload) {
  MessageWriter writer;
  writer.reserve(64 + place.name.size() + payload.size());
  writer.put(place.kind);
  writer.put(place.run);
  writer.put(place.number);
  writer.put_text(place.name);
  writer.put_bytes(payload.data(), payload.size());
  return writer.take();
}

// frame_from returns the frame of such bytes.
inline ProcessFrame frame_from(gsl::span<const std::byte> bytes) {
  MessageReader reader(bytes);
  ProcessFrame frame;
  frame.kind = reader.get<ProcessFrame::Kind>();
  frame.run = reader.get<std::uint32_t>();
  frame.number = reader.get<std::uint64_t>();
  frame.name = reader.get_text();
  frame.payload.assign(reader.rest().begin(), reader.rest().end());
  return frame;
}

}  // namespace simmesh
