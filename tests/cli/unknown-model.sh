"$KVSIM" predict -m qwen3.8-27
