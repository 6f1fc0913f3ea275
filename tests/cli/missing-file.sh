"$KVSIM" predict --machine ./no-such-box.yaml
