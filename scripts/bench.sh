# The subcommand bench of ./dev.
# shellcheck shell=bash

do_bench() {
  local kind=plain filter='' write=() argument
  for argument in "$@"; do
    case $argument in
      --peers | --scale) kind=${argument#--} ;;
      --write) write=(--write) ;;
      -*) refuse "bench: expected --peers, --write, --scale or a filter, got '$argument'" ;;
      *) filter=$argument ;;
    esac
  done
  [ ${#write[@]} = 0 ] || [ "$kind" = peers ] || refuse "bench: expected --peers beside --write"
  case $kind in
    plain) run_benchmarks "${filter:-.}" ;;
    peers) bench_with_peers "$filter" "${write[@]}" ;;
    scale)
      [ -z "$filter" ] || refuse "bench: expected no filter after --scale, got '$filter'"
      bench_scale
      ;;
  esac
}

run_benchmarks() {
  local out=$root/build/bench program
  build release
  mkdir -p "$out"
  rm -f "$out"/*_bench.json
  for program in "$root"/build/release/bin/*_bench; do
    [ -x "$program" ] || refuse "bench: no benchmark was built"
    "$program" --benchmark_filter="$1" --benchmark_out_format=json \
      --benchmark_out="$out/$(basename "$program").json"
  done
}

# A peer that can't be installed leaves its figures out, and the page says so.
bench_with_peers() {
  local newest=${torch_environments[-1]} filter=$1
  shift
  build release
  has_module || refuse "bench: the Python module could not be built"
  need_environment "$newest" || refuse "bench: $newest could not be installed"
  (need "${peer_packages[@]}") || say "some peers are missing"
  [ -n "$filter" ] || say "measuring all figures and their peers; this takes about 20 minutes"
  "$root/build/$newest/bin/python" "$root/bench/page/bench_page.py" \
    --filter "$filter" "$@"
}

bench_scale() {
  build release one_world
  need_environment plots || refuse "bench: what draws plots could not be installed"
  "$root/build/plots/bin/python" "$root/bench/scale/scale_page.py"
}
