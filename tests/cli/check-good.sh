"$KVSIM" check models/llm/qwen3.8-27b.yaml experiments/x4-bound/experiment.yaml
"$KVSIM" check models/machine/two-card-example.yaml | grep -e "^[a-z]" -e "\.h2d"
"$KVSIM" check models/gpu/rtx3060.yaml | grep -e "^gpu" -e "memory "
"$KVSIM" check rtx4070-rtx3060 | grep -o -e "host.memory_rate  *no limit" -e "gpu0.opposite_h2d  *no change" -e "collective.rate  *no cost"
"$KVSIM" check qwen3-8b | head -n 1
"$KVSIM" check two-card-example | grep -o "host.pageable_rate  *half the link"
