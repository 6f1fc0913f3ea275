# All faults of a file in one run, and every file is looked at.
cd tests/data/invalid
"$KVSIM" check experiment/several/input.yaml experiment/wrong-kind/../no-kind/input.yaml \
    ../../../models/llm/qwen3-8b.yaml >/dev/null
echo "exit $?"
echo "kind: machin" >"$KVS_TMP/kind.yaml"
cd "$KVS_TMP" && "$KVSIM" check kind.yaml none.yaml
