/*
 * main.c - the table of verbs, help and version.
 *
 * Everything else is the verb's. A verb that is not known is refused together with the nearest one that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hapax.h>

#include "app/suggest.h"
#include "cli/exit.h"
#include "cli/verbs.h"

static const hx_command *const verbs[] = {
    &hx_filter_command, &hx_stat_command, &hx_explain_command, &hx_dump_command, &hx_verify_command,
};

enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

/* What stands in stdout's buffer goes out. `code` is how the program ends if that is fine. */
static int end_of_output(const hx_log *log, int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !failed)
        return code;
    hx_log_line(log, "stdout: %s", errno != 0 ? strerror(errno) : "not all of it could be written");
    return HX_EXIT_TROUBLE;
}

static int print_version(const hx_log *log)
{
    printf("hapax %s\n", hapax_version());
    return end_of_output(log, HX_EXIT_FINE);
}

static void print_usage(FILE *to)
{
    fprintf(to, "usage: hapax VERB [OPTION...] [ARGUMENT...]\n\nActs on every message once.\n\n");
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(to, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(to, "  %-9s %s\n", "version", "Prints the version.");
    fprintf(to, "  %-9s %s\n", "help", "Prints this text, or that of a verb: hapax help VERB.");
    fprintf(to, "\nhapax VERB --help lists a verb's options; man hapax tells more.\n");
}

static int unknown(const hx_log *log, const char *word)
{
    const char *names[VERB_COUNT + 2];
    for (size_t i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i]->name;
    names[VERB_COUNT] = "version";
    names[VERB_COUNT + 1] = "help";
    int nearest = hx_suggest_nearest(word, strlen(word), names, VERB_COUNT + 2);
    if (nearest >= 0)
        hx_log_line(log, "unknown verb %s; did you mean %s?", word, names[nearest]);
    else
        hx_log_line(log, "unknown verb %s; see hapax help", word);
    return HX_EXIT_USAGE;
}

static const hx_command *find(const char *word)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i]->name, word) == 0)
            return verbs[i];
    return NULL;
}

static int help(const hx_log *log, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stdout);
        return end_of_output(log, HX_EXIT_FINE);
    }
    const hx_command *verb = find(argv[1]);
    if (verb == NULL)
        return unknown(log, argv[1]);
    hx_options_help(verb);
    return end_of_output(log, HX_EXIT_FINE);
}

/*
 * A program started with stdin, stdout or stderr closed would get that number for the next file it opens, and write
 * messages into its own store. So each is opened here on something whose use fails as that of a closed one does.
 */
static int hold_standard_files(void)
{
    static const int flags[3] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    hx_log log;
    if (hold_standard_files() < 0)
        return HX_EXIT_TROUBLE;
    hx_log_init(&log, NULL);
    if (argc < 2) {
        print_usage(stderr);
        return HX_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version(&log);
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(&log, argc - 1, argv + 1);
    const hx_command *verb = find(word);
    if (verb == NULL)
        return unknown(&log, word);
    int rc = verb->run(verb, argc - 1, argv + 1);
    log.verb = verb->name;
    /* the others have said what is wrong already */
    return rc == HX_EXIT_FINE || rc == HX_EXIT_RECORDS ? end_of_output(&log, rc) : rc;
}
