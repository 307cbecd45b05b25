#include "replay/chakra/write_chakra.h"

#include <fmt/format.h>
#include <replay/chakra/et_def.pb.h>

#include "core/check/check.h"
#include "core/check/write_file.h"
#include "replay/chakra/to_chakra.h"
#include "replay/write/make_folder.h"

namespace simmesh::replay {

namespace {

// ValueWriter puts the value of an attribute into the field of its kind.
struct ValueWriter {
  ChakraProtoMsg::AttributeProto& to;

  void operator()(std::monostate) const {}
  void operator()(bool value) const { to.set_bool_val(value); }
  void operator()(std::int64_t value) const { to.set_int64_val(value); }
  void operator()(std::uint64_t value) const { to.set_uint64_val(value); }
  void operator()(double value) const { to.set_double_val(value); }
  void operator()(const std::string& value) const { to.set_string_val(value); }
  void operator()(const std::vector<bool>& list) const { fill(list, *to.mutable_bool_list()); }
  void operator()(const std::vector<std::int64_t>& list) const {
    fill(list, *to.mutable_int64_list());
  }
  void operator()(const std::vector<std::uint64_t>& list) const {
    fill(list, *to.mutable_uint64_list());
  }
  void operator()(const std::vector<double>& list) const { fill(list, *to.mutable_double_list()); }
  void operator()(const std::vector<std::string>& list) const {
    fill(list, *to.mutable_string_list());
  }

  template <class Values, class List>
  static void fill(const Values& values, List& list) {
    for (const auto& value : values) list.add_values(value);
  }
};

void set_attribute(const ChakraAttribute& attribute, ChakraProtoMsg::AttributeProto& to) {
  to.set_name(attribute.name);
  std::visit(ValueWriter{to}, attribute.value);
}

void set_io(const ChakraIo& io, ChakraProtoMsg::IOInfo& to) {
  to.set_values(io.values);
  to.set_shapes(io.shapes);
  to.set_types(io.types);
}

void append_message(const google::protobuf::MessageLite& message, std::string& out) {
  std::string bytes = message.SerializeAsString();
  std::uint64_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) out += char(length | 0x80);
  out += char(length);
  out += bytes;
}

void set_node(const ChakraNode& node, ChakraProtoMsg::Node& to) {
  to.set_id(node.id);
  to.set_name(node.name);
  to.set_type(ChakraProtoMsg::NodeType(node.type));
  for (std::uint64_t id : node.ctrl_deps) to.add_ctrl_deps(id);
  for (std::uint64_t id : node.data_deps) to.add_data_deps(id);
  to.set_start_time_micros(node.start_us);
  to.set_duration_micros(node.duration_us);
  set_io(node.inputs, *to.mutable_inputs());
  set_io(node.outputs, *to.mutable_outputs());
  for (const ChakraAttribute& attribute : node.attributes) set_attribute(attribute, *to.add_attr());
}

}  // namespace

std::string to_protobuf(const ChakraTrace& trace) {
  std::string bytes;
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version(trace.version);
  for (const ChakraAttribute& attribute : trace.metadata)
    set_attribute(attribute, *metadata.add_attr());
  append_message(metadata, bytes);
  ChakraProtoMsg::Node message;
  for (const ChakraNode& node : trace.nodes) {
    message.Clear();
    set_node(node, message);
    append_message(message, bytes);
  }
  return bytes;
}

void write_chakra_job(const TraceJob& job, const std::string& folder) {
  make_folder(folder, "the Chakra traces");
  for (const RankTrace& rank : job.ranks)
    write_file(fmt::format("{}/rank-{}.et", folder, rank.rank), to_protobuf(to_chakra(rank)),
               "the Chakra trace");
}

}  // namespace simmesh::replay
