# The whole answer of the default experiment.
"$KVSIM" predict
