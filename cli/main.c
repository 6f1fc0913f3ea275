/* kvsim: picks the command, and answers --help and --version. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"

static const struct kvs_command commands[] = {
    {"predict", "what a KV transport gives: tokens per second, the bound, what limits it",
     kvs_command_predict},
    {"replay", "run what predict predicts with real bytes, and set both side by side",
     kvs_command_replay},
    {"compare", "two results side by side: the errors of rows, or timelines",
     kvs_command_compare},
    {"validate", "predict every measured row shipped here, and say how far off that is",
     kvs_command_validate},
    {"probe", "measure this machine, and write its file or say what has changed",
     kvs_command_probe},
    {"plan", "write the exact operations of a decode token as JSON Lines", kvs_command_plan},
    {"check", "read a machine, model, experiment or plan file, and say what it means",
     kvs_command_check},
    {"plot", "run an experiment and draw its figure with gnuplot", kvs_command_plot},
    {"list", "machines, models, gpus, experiments, policies", kvs_command_list},
};

static void main_help(FILE *out)
{
    fputs("Usage: kvsim COMMAND [options] [arguments]\n\n"
          "Predicts how moving the KV cache over PCIe speeds up LLM decoding (decode only).\n\n"
          "Commands\n",
          out);
    for (size_t i = 0; i < KVS_COUNT_OF(commands); i++)
        fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
    fputs("\nkvsim COMMAND --help lists a command's flags; kvsim --version prints the "
          "version.\n\n"
          "Exit codes\n"
          "  0  done (a transport that declined and ran ordered is an answer, and said)\n"
          "  1  failure while running: input or output, memory\n"
          "  2  usage or bad input, a refused plan included\n"
          "  3  outside --tolerance, or probe found a figure changed\n"
          "  4  does not fit in memory\n"
          "  5  digests differ: some policy did not read the bytes that it should\n"
          "  77 no device to run on\n"
          "  128 and more: ended by a signal, the rows that were done printed\n\n"
          "Examples\n"
          "  kvsim predict\n"
          "  kvsim predict --machine ./my-box.yaml -m qwen3-8b -d '4096-65536*2' -kvpd 0,1,2\n"
          "  kvsim replay x4-bound -d 4096 -n 8 --verify\n"
          "  kvsim check ./my-box.yaml\n",
          out);
}

static void main_version(void)
{
#ifdef KVS_COMMIT
    printf("kvsim %s (%s)\n", KVS_VERSION, KVS_COMMIT);
#else
    printf("kvsim %s\n", KVS_VERSION);
#endif
}

static int main_unknown(const char *word)
{
    const char *names[KVS_COUNT_OF(commands)];
    for (size_t i = 0; i < KVS_COUNT_OF(commands); i++)
        names[i] = commands[i].name;
    const char *nearest = kvs_nearest(word, names, KVS_COUNT_OF(commands));
    if (nearest != NULL)
        fprintf(stderr, "%s: unknown command; did you mean %s?\n", word, nearest);
    else
        fprintf(stderr, "%s: unknown command\n", word);
    fputs("  hint: kvsim --help lists the commands\n", stderr);
    return KVS_EXIT_USAGE;
}

/* 0 once everything on stdout is written. */
static int main_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return KVS_EXIT_OK;
    fputs("cannot write the results\n", stderr);
    return KVS_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        main_help(stderr);
        return KVS_EXIT_USAGE;
    }
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "help") == 0) {
        main_help(stdout);
        return main_flush();
    }
    if (strcmp(word, "--version") == 0) {
        main_version();
        return main_flush();
    }
    for (size_t i = 0; i < KVS_COUNT_OF(commands); i++)
        if (strcmp(word, commands[i].name) == 0)
            return commands[i].run(argc - 2, (const char *const *)argv + 2);
    return main_unknown(word);
}
