"$KVSIM" check models/llm/qwen3.8-27b.yaml experiments/x4-bound/experiment.yaml
"$KVSIM" check models/machine/two-card-example.yaml | grep -e "^[a-z]" -e "\.h2d"
"$KVSIM" check models/gpu/rtx3060.yaml | grep -e "^gpu" -e "memory "
