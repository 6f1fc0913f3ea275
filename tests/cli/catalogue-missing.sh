# A folder that is not there is an error, not the built-in catalogue.
"$KVSIM" predict --catalogue ./no-such-folder --machine rtx4070 --dry-run
