# The subcommand bench of ./dev.
# shellcheck shell=bash

do_bench() {
  local with_peers=no filter=. argument
  for argument in "$@"; do
    case $argument in
      --peers) with_peers=yes ;;
      -*) refuse "bench: expected --peers or a filter, got '$argument'" ;;
      *) filter=$argument ;;
    esac
  done
  build release
  local out=$root/build/bench program
  mkdir -p "$out"
  rm -f "$out"/*_bench.json
  for program in "$root"/build/release/bin/*_bench; do
    [ -x "$program" ] || refuse "bench: no benchmark was built"
    "$program" --benchmark_filter="$filter" --benchmark_out_format=json \
      --benchmark_out="$out/$(basename "$program").json"
  done
  [ $with_peers = no ] || compare_with_peers "$out"
}

compare_with_peers() {
  local out=$1 newest=${torch_environments[-1]} script
  need "${peer_packages[@]}"
  need_environment "$newest" || refuse "bench: $newest could not be installed"
  say "timing PyTorch, DeepSpeed and SimGrid's SMPI; this takes about ten minutes"
  {
    for script in local_tensor transformer fsdp_gloo zero3_gloo checkpoint_dcp; do
      "$root/build/$newest/bin/python" "$root/bench/peers/$script.py"
    done
    python3 "$root/bench/peers/execution_trace.py"
    python3 "$root/bench/peers/smpi.py"
  } > "$out/peers.jsonl"
  python3 "$root/bench/peers/compare.py" --peers "$out/peers.jsonl" "$out"/*_bench.json
}
