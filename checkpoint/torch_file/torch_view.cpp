#include "checkpoint/torch_file/torch_view.h"

#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/torch_file/torch_types.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view rebuild_tensor = "torch._utils._rebuild_tensor_v2";
// For a dtype without a storage class of its own; the dtype is the last argument.
constexpr std::string_view rebuild_untyped = "torch._utils._rebuild_tensor_v3";
constexpr std::string_view untyped_storage = "torch.storage.UntypedStorage";
// For a tensor with attributes of its own; the arguments are the function without them, the class,
// and that function's arguments.
constexpr std::string_view rebuild_with_attributes = "torch._tensor._rebuild_from_type_v2";
constexpr std::string_view rebuild_parameter = "torch._utils._rebuild_parameter";
constexpr std::string_view rebuild_parameter_with_state =
    "torch._utils._rebuild_parameter_with_state";

template <class... Args>
[[noreturn]] void refuse_view(fmt::format_string<Args...> format, Args&&... args) {
  raise(ErrorKind::value_error, "checkpoint/torch_archive", "{}",
        fmt::format(format, std::forward<Args>(args)...));
}

// Returns the name of a dtype or storage without "torch."; empty for another class.
std::string_view torch_name(std::string_view name) {
  constexpr std::string_view module = "torch.";
  return name.starts_with(module) ? name.substr(module.size()) : "";
}

bool is_made_by(PickleValue value, std::string_view callable) {
  return value->kind == PickleNode::Kind::object && value->items[0]->text == callable;
}

bool is_parameter(PickleValue value) {
  return is_made_by(value, rebuild_parameter) || is_made_by(value, rebuild_parameter_with_state);
}

// Raises a ValueError for a view whose elements are the conjugates or negatives of those stored.
void check_plain(PickleValue marks) {
  if (marks->kind != PickleNode::Kind::dict) return;
  for (const char* mark : {"conj", "neg"})
    if (PickleValue is_set = find_field(marks, mark); is_set != nullptr && is_set->flag)
      refuse_view("a view of which PyTorch computes the elements ({})", mark);
}

// Reads the storage of a tensor: its dtype and elements, or only its bytes if it has no dtype.
void read_storage(PickleValue persistent, PickleValue dtype, TorchView& view) {
  if (persistent->kind != PickleNode::Kind::persistent) refuse_view("a tensor without a storage");
  const std::vector<PickleValue>& id = as_items(persistent->items[0], "a storage");
  // Files before PyTorch 1.6 have a sixth part, the view of a storage.
  if (id.size() == 6 && id[5]->kind != PickleNode::Kind::none) refuse_view("a view of a storage");
  if ((id.size() != 5 && id.size() != 6) || as_text(id[0], "a storage") != "storage" ||
      id[1]->kind != PickleNode::Kind::global)
    refuse_view("a storage that isn't named as torch.save names one");
  view.storage = as_text(id[2], "a storage's key");
  view.count = as_integer(id[4], "a storage's size");
  if (dtype == nullptr) {
    auto known = find_torch_storage(torch_name(id[1]->text));
    if (!known) refuse_view("a storage of the class {}", id[1]->text);
    view.dtype = *known;
    return;
  }
  if (id[1]->text != untyped_storage) refuse_view("a storage of the class {}", id[1]->text);
  auto known = dtype->kind == PickleNode::Kind::global ? find_torch_dtype(torch_name(dtype->text))
                                                       : std::nullopt;
  if (!known) refuse_view("a tensor whose dtype isn't known");
  view.dtype = *known;
  view.count /= bits_per_element(view.dtype) / 8;
}

// Raises a ValueError unless all elements are within the storage.
void check_elements(const TorchView& view) {
  if (view.shape.size() != view.strides.size() || view.shape.size() > std::size_t(dims_max))
    refuse_view("{} sizes and {} strides", view.shape.size(), view.strides.size());
  std::int64_t elements = numel(view.shape);
  if (elements == 0) return;
  std::int64_t last = view.offset;
  for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
    std::int64_t reach;
    if (view.strides[dim] < 0 ||
        __builtin_mul_overflow(view.shape[dim] - 1, view.strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      refuse_view("the strides {} lead out of the storage", to_string(view.strides));
  }
  if (view.offset < 0 || last >= view.count)
    refuse_view("a tensor of shape {} ends at element {} of a storage of {}", to_string(view.shape),
                last, view.count);
  // With a stride of zero, a small storage could have any number of elements.
  if (elements > view.count) refuse_view("a tensor of more elements than its storage");
}

}  // namespace

bool TorchView::is_contiguous() const {
  if (numel(shape) == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] != 1 && strides[dim] != expected) return false;
    expected *= shape[dim];
  }
  return true;
}

Dims torch_size(PickleValue value, std::string_view what) {
  const std::vector<PickleValue>& arguments = as_items(as_object(value, "torch.Size")[1], what);
  if (arguments.size() != 1) refuse_view("{} isn't a list of sizes", what);
  std::vector<std::int64_t> sizes = as_integers(arguments[0], what);
  if (sizes.size() > std::size_t(dims_max)) refuse_view("{} has {} dims", what, sizes.size());
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
    refuse_view("{} is negative", what);
  return {sizes.begin(), sizes.end()};
}

bool is_torch_view(PickleValue value) {
  return is_made_by(value, rebuild_tensor) || is_made_by(value, rebuild_untyped) ||
         is_made_by(value, rebuild_with_attributes) || is_parameter(value);
}

TorchView read_torch_view(PickleValue value) {
  if (is_parameter(value)) {
    const std::vector<PickleValue>& arguments = as_items(value->items[1], "a parameter");
    if (arguments.empty()) refuse_view("a parameter without a tensor");
    value = arguments[0];
  }
  if (value->kind != PickleNode::Kind::object) as_object(value, rebuild_tensor);
  PickleValue function = value->items[0], given = value->items[1];
  if (function->text == rebuild_with_attributes) {
    const std::vector<PickleValue>& arguments = as_items(given, "a tensor with attributes");
    if (arguments.size() < 3) refuse_view("a tensor of {} arguments", arguments.size());
    function = arguments[0];
    given = arguments[2];
  }
  bool is_untyped = function->text == rebuild_untyped;
  if (!is_untyped && function->text != rebuild_tensor)
    refuse_view("expected {}, got {}", rebuild_tensor, function->text);
  const std::vector<PickleValue>& arguments = as_items(given, "a tensor");
  if (arguments.size() < (is_untyped ? 7u : 4u))
    refuse_view("a tensor of {} arguments", arguments.size());
  if (std::size_t marks = is_untyped ? 7 : 6; arguments.size() > marks)
    check_plain(arguments[marks]);
  TorchView view;
  read_storage(arguments[0], is_untyped ? arguments[6] : nullptr, view);
  view.offset = as_integer(arguments[1], "a storage offset");
  std::vector<std::int64_t> shape = as_integers(arguments[2], "a shape");
  std::vector<std::int64_t> strides = as_integers(arguments[3], "strides");
  view.shape = Shape(shape.begin(), shape.end());
  view.strides = Strides(strides.begin(), strides.end());
  check_elements(view);
  return view;
}

void check_torch_storage(const TorchView& view, std::int64_t bytes) {
  std::int64_t width = bits_per_element(view.dtype) / 8;
  if (bytes % width != 0 || bytes / width != view.count)
    refuse_view("a storage of {} bytes, expected {} elements of {} bytes", bytes, view.count,
                width);
}

}  // namespace simmesh::checkpoint
