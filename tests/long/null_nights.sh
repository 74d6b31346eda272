#!/usr/bin/env bash
# Twenty short nights, really trained, of changes that change nothing (a setting that the schedule in
# use does not read): at most one of them may keep any and still believe it. Skipped (77) unless
# WINDTUNNEL_LONG=1.
#
#   null_nights.sh <windtunnel> <source folder>
set -euo pipefail
windtunnel=$1
source=$2
nights=20

if [ "${WINDTUNNEL_LONG:-}" != 1 ]; then
  echo "skipped: set WINDTUNNEL_LONG=1 to run it"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WINDTUNNEL_HOME=$work

mkdir -p "$work/texts"
for file in "$source"/*/README.md "$source"/programs/*.md; do
  cp "$file" "$work/texts/$(echo "${file#"$source"/}" | tr / -)"
done
{
  cat <<PROGRAM
---
name: nothing
corpus: {recipe: "$work/texts.yaml"}
slots: 2
base:
  model: {pattern: "*D", width: 16, context_tokens: 32, layers: {"*": {head_size: 4}}}
  train:
    budget: {kind: seconds, amount: 0.5}
    tokens_per_step: 256
    optimizer: {learning_rate: 0.01}
    schedule: {kind: cosine}
night: {baseline_replicates: 4, experiments: 8}
mutable:
  - {path: train.schedule.decay_fraction, minimum: 0.05, maximum: 0.95}
decision: {min_pairs: 2, max_pairs: 4, incumbent_runs: 4, confidence: 0.95}
proposers: [{kind: queue}]
queue:
PROGRAM
  for value in 0.1 0.3 0.4 0.5 0.6 0.7 0.8 0.9; do
    cat <<IDEA
  - hypothesis: Nothing reads this setting.
    patch: {train.schedule.decay_fraction: $value}
    prediction: {delta_bits_per_byte: 0, interval_low: -0.01, interval_high: 0.01, probability_kept: 0}
    diagnostic: None.
IDEA
  done
  printf -- '---\n\n# Nothing\n\nChanges that change nothing.\n'
} >"$work/nothing.md"

with_a_keep=0
for night in $(seq $nights); do
  "$windtunnel" research "$work/nothing.md" --files "$work/texts/*" --study "$work/night-$night" \
    >"$work/night-$night.log" 2>&1 || { cat "$work/night-$night.log"; exit 1; }
  "$windtunnel" status "$work/night-$night" --json >"$work/status.json"
  count() { sed -n "s/^  \"$1\": \([0-9]*\),\{0,1\}$/\1/p" "$work/status.json"; }
  kept=$(count kept)
  echo "night $night: $kept kept, $(count doubted) more not confirmed"
  if [ "$kept" -gt 0 ]; then with_a_keep=$((with_a_keep + 1)); fi
done
echo "$with_a_keep of $nights nights kept a change that changes nothing"
[ "$with_a_keep" -le 1 ]
