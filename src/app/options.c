/*
 * options.c - words of the command line against a verb's table.
 *
 * Options and operands may be mixed; after "--" all is operand; "-" alone is an operand (stdin). Names are not cut
 * short: a script that says --dom today would break on the day a second such name appears. A name that is not in the
 * table is refused together with the nearest one that is.
 */
#include "app/options.h"

#include <stdio.h>
#include <string.h>

#include "app/suggest.h"

#define NAMES_CAP 128
#define HELP_COLUMN 30
#define HELP_WIDTH 100

void hx_options_init(hx_options *options, const hx_command *command, const hx_log *log, int argc, char **argv)
{
    memset(options, 0, sizeof *options);
    options->command = command;
    options->log = log;
    options->argc = argc;
    options->argv = argv;
    options->at = 1;
}

static int find_name(const hx_command *command, const char *name, size_t len)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const char *known = command->options[i].name;
        if (known != NULL && strlen(known) == len && memcmp(known, name, len) == 0)
            return (int)i;
    }
    return -1;
}

static int find_letter(const hx_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return (int)i;
    return -1;
}

static int unknown_name(const hx_options *options, const char *word, const char *name, size_t len)
{
    const hx_command *command = options->command;
    const char *names[NAMES_CAP];
    size_t count = command->option_count < NAMES_CAP ? command->option_count : NAMES_CAP;
    for (size_t i = 0; i < count; i++)
        names[i] = command->options[i].name;
    int nearest = hx_suggest_nearest(name, len, names, count);
    if (nearest >= 0)
        hx_log_line(options->log, "unknown option %.*s; did you mean --%s?", (int)(name + len - word), word,
                    names[nearest]);
    else
        hx_log_line(options->log, "unknown option %.*s; see hapax %s --help", (int)(name + len - word), word,
                    command->name);
    return HX_OPTIONS_BAD;
}

/* The argument of an option without one in the same word: the next word, whatever it looks like. */
static int take_argument(hx_options *options, int index, const char **ret_value)
{
    if (options->at >= options->argc) {
        hx_log_line(options->log, "%s needs an argument: %s", options->shown,
                    options->command->options[index].argument);
        return HX_OPTIONS_BAD;
    }
    *ret_value = options->argv[options->at++];
    return index;
}

static int next_letter(hx_options *options, const char **ret_value)
{
    char letter = *options->letters++;
    snprintf(options->shown, sizeof options->shown, "-%c", letter);
    int index = find_letter(options->command, letter);
    if (index < 0) {
        hx_log_line(options->log, "unknown option -%c; see hapax %s --help", letter, options->command->name);
        return HX_OPTIONS_BAD;
    }
    const char *rest = *options->letters != '\0' ? options->letters : NULL;
    options->letters = rest;
    if (options->command->options[index].argument == NULL) {
        *ret_value = NULL;
        return index;
    }
    options->letters = NULL;
    if (rest == NULL)
        return take_argument(options, index, ret_value);
    *ret_value = rest;
    return index;
}

int hx_options_next(hx_options *options, const char **ret_value)
{
    if (options->letters != NULL)
        return next_letter(options, ret_value);
    if (options->at >= options->argc)
        return HX_OPTIONS_END;
    const char *word = options->argv[options->at++];
    if (options->operands_only || word[0] != '-' || word[1] == '\0') {
        *ret_value = word;
        return HX_OPTIONS_OPERAND;
    }
    if (word[1] != '-') {
        options->letters = word + 1;
        return next_letter(options, ret_value);
    }
    if (word[2] == '\0') {
        options->operands_only = true;
        return hx_options_next(options, ret_value); /* at most once: operands_only is set */
    }
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    int index = find_name(options->command, name, len);
    if (index < 0)
        return unknown_name(options, word, name, len);
    snprintf(options->shown, sizeof options->shown, "--%s", options->command->options[index].name);
    if (options->command->options[index].argument == NULL) {
        if (equals != NULL) {
            hx_log_line(options->log, "%s takes no argument", options->shown);
            return HX_OPTIONS_BAD;
        }
        *ret_value = NULL;
        return index;
    }
    if (equals == NULL)
        return take_argument(options, index, ret_value);
    *ret_value = equals + 1;
    return index;
}

/* Words of text from column HELP_COLUMN on, broken at HELP_WIDTH; `column` is where the line stands now. */
static void print_wrapped(const char *text, int column)
{
    while (*text != '\0') {
        int len = (int)strcspn(text, " ");
        if (column >= HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column < HELP_COLUMN) {
            printf("%*s", HELP_COLUMN - column, "");
            column = HELP_COLUMN;
        } else {
            putchar(' ');
            column++;
        }
        printf("%.*s", len, text);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
}

static void print_option(const hx_option *option)
{
    int column = 0;
    if (option->letter != 0 && option->name != NULL)
        column = printf("  -%c, --%s", option->letter, option->name);
    else if (option->name != NULL)
        column = printf("  --%s", option->name);
    else
        column = printf("  -%c", option->letter);
    if (option->argument != NULL)
        column += printf(" %s", option->argument);
    if (column >= HELP_COLUMN - 1) {
        putchar('\n');
        column = 0;
    }
    char text[1024];
    if (option->default_text != NULL)
        snprintf(text, sizeof text, "%s [default: %s]", option->help, option->default_text);
    else
        snprintf(text, sizeof text, "%s", option->help);
    print_wrapped(text, column);
    putchar('\n');
}

void hx_options_help(const hx_command *command)
{
    printf("usage: hapax %s %s\n\n%s\n\n", command->name, command->arguments, command->summary);
    for (size_t i = 0; i < command->option_count; i++)
        print_option(&command->options[i]);
    printf("\nMore in the manual: man hapax-%s\n", command->name);
}
