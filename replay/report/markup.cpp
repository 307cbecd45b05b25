#include "replay/report/markup.h"

#include <fmt/format.h>

namespace simmesh::replay {

std::string markup(std::string_view text) {
  std::string result;
  for (char byte : text) {
    switch (byte) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(byte) >= ' ' || byte == '\n' || byte == '\t') result += byte;
    }
  }
  return result;
}

std::string pixels(double length) { return fmt::format("{:.2f}", length); }

}  // namespace simmesh::replay
