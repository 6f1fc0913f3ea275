# Nothing is computed for a trace that cannot be written.
"$KVSIM" predict --machine rtx4070 -d 256 --policy ordered --trace /nonexistent/t.json
