#include "replay/chakra/read_chakra.h"

#include <fmt/format.h>
#include <optional>
#include <replay/chakra/et_def.pb.h>

#include "replay/chakra/old_chakra.h"
#include "replay/read/bad_trace.h"

namespace simmesh::replay {

namespace {

namespace proto = ChakraProtoMsg;

// MessageReader takes the messages of a source one after another.
class MessageReader {
 public:
  explicit MessageReader(ByteSource& source) : source_(source) {}

  // next reads a message; false at the end of the file.
  bool next(std::string& message) {
    auto length = read_length();
    if (!length) return false;
    message.resize(*length);
    std::size_t count = 0;
    while (count < message.size()) {
      std::size_t more = source_.read({message.data() + count, message.size() - count});
      if (more == 0)
        refuse("chakra_cut", fmt::format("expected a message of {} bytes, got {}", *length, count));
      count += more;
    }
    ++messages_;
    return true;
  }

  std::int64_t messages() const { return messages_; }

  [[noreturn]] void refuse(const std::string& rule, const std::string& what) const {
    throw BadTrace(rule, "replay/chakra",
                   fmt::format("{}: message {}: {}", source_.name(), messages_, what));
  }

 private:
  std::optional<std::size_t> read_length() {
    std::uint64_t length = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      char byte = 0;
      if (source_.read({&byte, 1}) == 0) {
        if (shift == 0) return std::nullopt;
        refuse("chakra_cut", "expected the length of a message, got the end of the file");
      }
      length |= std::uint64_t(byte & 0x7F) << shift;
      if (byte & 0x80) continue;
      if (length > std::uint64_t(chakra_message_bytes_max)) break;
      return std::size_t(length);
    }
    refuse("chakra_length", fmt::format("expected a length of at most {} bytes, got more",
                                        chakra_message_bytes_max));
  }

  ByteSource& source_;
  std::int64_t messages_ = 0;
};

template <class Value, class List>
std::vector<Value> list_of(const List& list) {
  return std::vector<Value>(list.values().begin(), list.values().end());
}

ChakraValue value_of(const proto::AttributeProto& from) {
  using Case = proto::AttributeProto;
  switch (from.value_case()) {
    case Case::kDoubleVal: return from.double_val();
    case Case::kDoubleList: return list_of<double>(from.double_list());
    case Case::kFloatVal: return double(from.float_val());
    case Case::kFloatList: return list_of<double>(from.float_list());
    case Case::kInt32Val: return std::int64_t(from.int32_val());
    case Case::kInt32List: return list_of<std::int64_t>(from.int32_list());
    case Case::kInt64Val: return std::int64_t(from.int64_val());
    case Case::kInt64List: return list_of<std::int64_t>(from.int64_list());
    case Case::kUint32Val: return std::uint64_t(from.uint32_val());
    case Case::kUint32List: return list_of<std::uint64_t>(from.uint32_list());
    case Case::kUint64Val: return std::uint64_t(from.uint64_val());
    case Case::kUint64List: return list_of<std::uint64_t>(from.uint64_list());
    case Case::kSint32Val: return std::int64_t(from.sint32_val());
    case Case::kSint32List: return list_of<std::int64_t>(from.sint32_list());
    case Case::kSint64Val: return std::int64_t(from.sint64_val());
    case Case::kSint64List: return list_of<std::int64_t>(from.sint64_list());
    case Case::kFixed32Val: return std::uint64_t(from.fixed32_val());
    case Case::kFixed32List: return list_of<std::uint64_t>(from.fixed32_list());
    case Case::kFixed64Val: return std::uint64_t(from.fixed64_val());
    case Case::kFixed64List: return list_of<std::uint64_t>(from.fixed64_list());
    case Case::kSfixed32Val: return std::int64_t(from.sfixed32_val());
    case Case::kSfixed32List: return list_of<std::int64_t>(from.sfixed32_list());
    case Case::kSfixed64Val: return std::int64_t(from.sfixed64_val());
    case Case::kSfixed64List: return list_of<std::int64_t>(from.sfixed64_list());
    case Case::kBoolVal: return from.bool_val();
    case Case::kBoolList: return list_of<bool>(from.bool_list());
    case Case::kStringVal: return from.string_val();
    case Case::kStringList: return list_of<std::string>(from.string_list());
    case Case::kBytesVal: return from.bytes_val();
    case Case::kBytesList: return list_of<std::string>(from.bytes_list());
    case Case::VALUE_NOT_SET: break;
  }
  return std::monostate();
}

template <class List>
std::vector<ChakraAttribute> attributes_of(const List& list) {
  std::vector<ChakraAttribute> attributes;
  attributes.reserve(std::size_t(list.size()));
  for (const proto::AttributeProto& from : list)
    attributes.push_back({from.name(), value_of(from)});
  return attributes;
}

ChakraIo io_of(const proto::IOInfo& from) { return {from.values(), from.shapes(), from.types()}; }

ChakraNode node_of(const proto::Node& from) {
  return {.id = from.id(),
          .name = from.name(),
          .type = ChakraNodeType(from.type()),
          .ctrl_deps = {from.ctrl_deps().begin(), from.ctrl_deps().end()},
          .data_deps = {from.data_deps().begin(), from.data_deps().end()},
          .start_us = from.start_time_micros(),
          .duration_us = from.duration_micros(),
          .inputs = io_of(from.inputs()),
          .outputs = io_of(from.outputs()),
          .attributes = attributes_of(from.attr())};
}

template <class Message>
void parse(Message& into, const std::string& message, const MessageReader& reader) {
  if (!into.ParseFromString(message))
    reader.refuse("chakra_message", fmt::format("expected a {} of {} bytes, got something else",
                                                into.GetTypeName(), message.size()));
}

// Reads the messages of a file without the metadata of today, whose nodes may have an older layout.
void read_all_messages(std::string first, MessageReader& reader, ChakraTrace& trace) {
  std::vector<std::string> messages;
  do {
    messages.push_back(std::move(first));
  } while (reader.next(first));
  ChakraLayout layout = chakra_layout(messages);
  proto::Node current;
  for (const std::string& message : messages) {
    if (layout == ChakraLayout::current) {
      parse(current, message, reader);
      trace.nodes.push_back(node_of(current));
      continue;
    }
    if (&message == &messages.front() && is_chakra_metadata(message)) {
      auto attributes = read_old_chakra_metadata(message, layout);
      if (!attributes) reader.refuse("chakra_message", "expected metadata, got something else");
      trace.metadata = std::move(*attributes);
      continue;
    }
    std::optional<ChakraNode> node = read_old_chakra_node(message, layout);
    if (!node)
      reader.refuse("chakra_message",
                    fmt::format("expected a node of {} bytes in the layout of 2023, got something "
                                "else",
                                message.size()));
    trace.nodes.push_back(std::move(*node));
  }
}

// The metadata of today is a version and attributes, that before October 2023 attributes alone, in
// the place of the version.
bool is_current_metadata(const std::string& message, proto::GlobalMetadata& metadata) {
  return is_chakra_metadata(message) && metadata.ParseFromString(message) &&
         metadata.version().find('\n') == std::string::npos;
}

}  // namespace

ChakraTrace read_chakra(ByteSource& source) {
  ChakraTrace trace;
  MessageReader reader(source);
  std::string message;
  if (!reader.next(message)) return trace;
  proto::GlobalMetadata metadata;
  if (!is_current_metadata(message, metadata)) {
    read_all_messages(std::move(message), reader, trace);
    trace.messages = reader.messages();
    return trace;
  }
  trace.version = metadata.version();
  trace.metadata = attributes_of(metadata.attr());
  proto::Node node;
  while (reader.next(message)) {
    parse(node, message, reader);
    if (!proto::NodeType_IsValid(node.type()) && (node.type() < 0 || node.type() > 255))
      reader.refuse("chakra_message", fmt::format("node {}: expected a type up to 255, got {}",
                                                  node.id(), int(node.type())));
    trace.nodes.push_back(node_of(node));
  }
  trace.messages = reader.messages();
  return trace;
}

}  // namespace simmesh::replay
