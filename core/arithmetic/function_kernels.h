namespace simmesh::SIMMESH_KERNELS {
namespace {
template <class T>
void apply(int, const T*, T*, std::int64_t) {}
}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
