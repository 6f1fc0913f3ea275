# Without a command: the help, on stderr.
"$KVSIM"
