/*
 * script.c - making and printing scripts.
 *
 * The one idea of the making: few ids, few sources, windows of a handful and times on the exact edges, so that every
 * kind of meeting happens in some dozens of operations. One seed makes one script, whatever was made before.
 *
 * In a domain with given times the age of an id is known within a second only, so where one has a max_age all turns
 * of the clocks are whole seconds (grain_ms).
 */
#include "model/script.h"
#include "sim/random.h"

#include <inttypes.h>
#include <string.h>

typedef struct maker {
    sim_random random;
    int ids;
    int sources;
    int domains;
    int64_t grain_ms;
    int64_t cursor_ms[MODEL_DOMAINS]; /* about where the given times of a domain are */
} maker;

static int64_t pick_of(maker *m, const int64_t *values, size_t count)
{
    return values[sim_random_below(&m->random, count)];
}

#define PICK(m, ...)                                                                                                 \
    pick_of(m, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static bool chance(maker *m, unsigned percent)
{
    return sim_random_chance(&m->random, percent);
}

static int below(maker *m, int bound)
{
    return (int)sim_random_below(&m->random, (uint64_t)bound);
}

static void make_settings(maker *m, hapax_domain_options *o, bool given)
{
    hapax_domain_options_init(o);
    o->window = PICK(m, 0, 1, 1, 2, 2, 3, 5);
    o->expiry_ms = PICK(m, 0, 1, 10, 10, 100, HAPAX_FOREVER);
    if (o->window == 0 && o->expiry_ms == 0) {
        o->window = 1;
    }
    o->refresh = chance(m, 75);
    o->max_age_ms = chance(m, 20) ? PICK(m, 1000, 2000, 5000) : HAPAX_FOREVER;
    o->source_idle_ms = chance(m, 25) ? PICK(m, 1, 10, 1000, 3000) : HAPAX_FOREVER;
    o->max_sources = chance(m, 25) ? PICK(m, 1, 2, 3) : 65536;
    o->max_step_ms = given && chance(m, 35) ? PICK(m, 0, 5, 10, 100) : HAPAX_FOREVER;
}

static int64_t make_time(maker *m, int domain)
{
    if (chance(m, 45)) {
        m->cursor_ms[domain] += PICK(m, 1, 1, 2, 5, 9, 10, 11, 12, 99, 100, 101, 1000);
    }
    if (chance(m, 3)) {
        m->cursor_ms[domain] += PICK(m, 5000, 100000, 10000000, -50, -1000);
    }
    int64_t jitter = chance(m, 80) ? 0 : PICK(m, -1, 1, -5, -11, -100, 6, 11, 101, 3000);
    return m->cursor_ms[domain] + jitter;
}

static void make_messages(maker *m, script_op *op, bool given)
{
    op->n = chance(m, 60) ? 1 : 1 + below(m, SCRIPT_BATCH);
    for (int i = 0; i < op->n; i++) {
        model_message *message = &op->messages[i];
        message->id = chance(m, 3) ? MODEL_NO_ID : below(m, m->ids);
        if (i > 0 && chance(m, 20)) {
            message->id = op->messages[i - 1].id;
        }
        message->source = below(m, m->sources);
        message->time_ms = given != chance(m, 1) ? make_time(m, op->domain) : HAPAX_NOW;
    }
    if (chance(m, 1)) {
        op->messages[0].time_ms = (INT64_C(1) << 51) + 1;
    }
}

static int64_t to_grain(maker *m, int64_t ms)
{
    return (ms + m->grain_ms - 1) / m->grain_ms * m->grain_ms;
}

static int64_t make_turn(maker *m, const script *s)
{
    const hapax_domain_options *o = &s->first[below(m, m->domains)];
    int64_t edge = PICK(m, 1, 10, o->expiry_ms, o->source_idle_ms, o->max_age_ms);
    if (edge == HAPAX_FOREVER || chance(m, 40)) {
        edge = PICK(m, 1, 1, 2, 5, 50, 1000);
    }
    edge += PICK(m, 0, 0, 1, -1);
    if (chance(m, 3)) {
        edge = PICK(m, 86400000, INT64_C(315360000000));
    }
    return to_grain(m, edge < 0 ? 0 : edge);
}

static void make_change(maker *m, script_op *op)
{
    hapax_domain_options *o = &op->options;
    hapax_domain_options_init(o);
    hapax_domain_options other;
    make_settings(m, &other, true);
    if (m->grain_ms == 1) {
        other.max_age_ms = HAPAX_FOREVER; /* the domain may be one of given times */
    }
    if (chance(m, 40)) {
        o->window = other.window;
    }
    if (chance(m, 40)) {
        o->expiry_ms = other.expiry_ms;
    }
    if (chance(m, 20)) {
        o->refresh = other.refresh;
    }
    if (chance(m, 20)) {
        o->max_age_ms = other.max_age_ms;
    }
    if (chance(m, 20)) {
        o->source_idle_ms = other.source_idle_ms;
    }
    if (chance(m, 20)) {
        o->max_sources = other.max_sources;
    }
    if (chance(m, 20)) {
        o->max_step_ms = other.max_step_ms;
    }
    o->change_settings = chance(m, 70);
}

static script_kind make_kind(maker *m, const script *s)
{
    static const struct {
        script_kind kind;
        int weight;
    } table[] = {
        {SCRIPT_RECORD, 26}, {SCRIPT_CLAIM, 20},   {SCRIPT_CONFIRM, 14}, {SCRIPT_RELEASE, 6},  {SCRIPT_PEEK, 5},
        {SCRIPT_EXPLAIN, 4}, {SCRIPT_TURN, 14},    {SCRIPT_WALL, 1},     {SCRIPT_SETTINGS, 1}, {SCRIPT_REOPEN, 3},
        {SCRIPT_CRASH, 3},   {SCRIPT_BOOKMARK, 2}, {SCRIPT_POWER, 2},    {SCRIPT_COMMIT, 1},
    };
    if (s->hold && chance(m, 8)) {
        return SCRIPT_COMMIT;
    }
    int dice = below(m, 102);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        dice -= table[i].weight;
        if (dice < 0) {
            return table[i].kind;
        }
    }
    return SCRIPT_RECORD;
}

static void make_op(maker *m, script *s, script_op *op, script_kind kind)
{
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->domain = below(m, m->domains);
    bool given = s->given[op->domain];
    switch (kind) {
    case SCRIPT_RECORD:
    case SCRIPT_CLAIM:
    case SCRIPT_PEEK: make_messages(m, op, given); break;
    case SCRIPT_CONFIRM:
    case SCRIPT_RELEASE:
        op->n = chance(m, 70) ? 1 : 1 + below(m, 3);
        for (int i = 0; i < op->n; i++) {
            op->picks[i] = chance(m, 1) ? -1 : below(m, 8);
        }
        op->ms = given != chance(m, 1) && chance(m, 50) ? make_time(m, op->domain) : HAPAX_NOW;
        break;
    case SCRIPT_EXPLAIN: op->pick = below(m, m->ids); break;
    case SCRIPT_TURN: op->ms = make_turn(m, s); break;
    case SCRIPT_WALL: op->ms = to_grain(m, 1000) * PICK(m, -3600, 3600, -5, 5, 315360000); break;
    case SCRIPT_SETTINGS: make_change(m, op); break;
    case SCRIPT_REOPEN:
    case SCRIPT_CRASH:
    case SCRIPT_POWER: op->ms = chance(m, 20) ? to_grain(m, 1000) * PICK(m, -60, 3600) : make_turn(m, s); break;
    case SCRIPT_BOOKMARK: op->pick = 1 + below(m, 1000); break;
    case SCRIPT_COMMIT: op->pick = below(m, 12); break;
    }
}

void script_make(script *s, uint64_t seed)
{
    maker m = {.random.state = seed * 0x9e3779b97f4a7c15ULL + 1, .grain_ms = 1};
    s->seed = seed;
    s->in_memory = chance(&m, 10);
    s->hold = chance(&m, 25);
    m.ids = 2 + below(&m, 9);
    m.sources = 1 + below(&m, 4);
    m.domains = chance(&m, 75) ? 1 : 1 + below(&m, MODEL_DOMAINS);
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        s->given[i] = chance(&m, 55);
        make_settings(&m, &s->first[i], s->given[i]);
        m.cursor_ms[i] = PICK(&m, 0, 0, 100, 1767225600000, -40, -(INT64_C(1) << 51), (INT64_C(1) << 51) - 9000);
        if (s->first[i].max_age_ms != HAPAX_FOREVER) {
            m.grain_ms = 1000;
        }
    }
    int wanted = 10 + below(&m, SCRIPT_OPS - 40);
    s->op_count = 0;
    while (s->op_count < wanted) {
        script_kind kind = make_kind(&m, s);
        make_op(&m, s, &s->ops[s->op_count++], kind);
        if ((kind == SCRIPT_REOPEN || kind == SCRIPT_CRASH || kind == SCRIPT_POWER) && chance(&m, 40)) {
            make_op(&m, s, &s->ops[s->op_count++], SCRIPT_SETTINGS);
        }
    }
}

/* ---- printing ---- */

static void print_ms(const char *name, int64_t ms, FILE *out)
{
    if (ms == HAPAX_FOREVER) {
        fprintf(out, " %s forever", name);
    } else if (ms != HAPAX_UNSET) {
        fprintf(out, " %s %" PRId64, name, ms);
    }
}

void script_print_settings(const hapax_domain_options *o, FILE *out)
{
    print_ms("window", o->window, out);
    print_ms("expiry", o->expiry_ms, out);
    print_ms("refresh", o->refresh, out);
    print_ms("max_age", o->max_age_ms, out);
    print_ms("source_idle", o->source_idle_ms, out);
    print_ms("max_sources", o->max_sources, out);
    print_ms("max_step", o->max_step_ms, out);
    fprintf(out, "%s\n", o->change_settings ? " change_settings" : "");
}

static void print_messages(const script_op *op, FILE *out)
{
    for (int i = 0; i < op->n; i++) {
        const model_message *message = &op->messages[i];
        fputc(' ', out);
        if (message->id == MODEL_NO_ID) {
            fputs("(no id)", out);
        } else {
            fputc('a' + message->id, out);
        }
        if (message->source > 0) {
            fprintf(out, "/%c", 'A' + message->source - 1);
        }
        if (message->time_ms != HAPAX_NOW) {
            fprintf(out, "@%" PRId64, message->time_ms);
        }
    }
    fputc('\n', out);
}

static void print_picks(const script_op *op, FILE *out)
{
    for (int i = 0; i < op->n; i++) {
        fprintf(out, " #%d", op->picks[i]);
    }
    if (op->kind == SCRIPT_CONFIRM && op->ms != HAPAX_NOW) {
        fprintf(out, " @%" PRId64, op->ms);
    }
    fputc('\n', out);
}

void script_print_op(const script_op *op, FILE *out)
{
    static const char *const names[] = {
        [SCRIPT_RECORD] = "record",     [SCRIPT_CLAIM] = "claim",     [SCRIPT_PEEK] = "peek",
        [SCRIPT_CONFIRM] = "confirm",   [SCRIPT_RELEASE] = "release", [SCRIPT_EXPLAIN] = "explain",
        [SCRIPT_TURN] = "turn",         [SCRIPT_WALL] = "wall",       [SCRIPT_SETTINGS] = "settings",
        [SCRIPT_REOPEN] = "reopen",     [SCRIPT_CRASH] = "crash",     [SCRIPT_POWER] = "power cut",
        [SCRIPT_BOOKMARK] = "bookmark", [SCRIPT_COMMIT] = "commit",
    };
    fprintf(out, "%s", names[op->kind]);
    switch (op->kind) {
    case SCRIPT_RECORD:
    case SCRIPT_CLAIM:
    case SCRIPT_PEEK:
        fprintf(out, " d%d:", op->domain);
        print_messages(op, out);
        break;
    case SCRIPT_CONFIRM:
    case SCRIPT_RELEASE:
        fprintf(out, " d%d: of the open claims", op->domain);
        print_picks(op, out);
        break;
    case SCRIPT_EXPLAIN: fprintf(out, " d%d: %c\n", op->domain, 'a' + op->pick); break;
    case SCRIPT_SETTINGS:
        fprintf(out, " d%d:", op->domain);
        script_print_settings(&op->options, out);
        break;
    case SCRIPT_TURN:
    case SCRIPT_WALL: fprintf(out, " %+" PRId64 " ms\n", op->ms); break;
    case SCRIPT_REOPEN:
    case SCRIPT_CRASH:
    case SCRIPT_POWER: fprintf(out, ", %+" PRId64 " ms on the wall clock, open\n", op->ms); break;
    case SCRIPT_BOOKMARK: fprintf(out, " %d\n", op->pick); break;
    case SCRIPT_COMMIT: fprintf(out, op->pick == 0 ? " all\n" : " up to a position seen (%d)\n", op->pick); break;
    }
}

void script_print(const script *s, FILE *out)
{
    fprintf(out, "seed %" PRIu64 ": a store %s%s\n", s->seed, s->in_memory ? "in memory" : "on the simulated disk",
            s->hold ? ", writes held until commit" : "");
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        bool used = false;
        for (int j = 0; j < s->op_count; j++) {
            script_kind kind = s->ops[j].kind;
            used = used || (s->ops[j].domain == i && kind != SCRIPT_TURN && kind != SCRIPT_WALL);
        }
        if (used) {
            fprintf(out, "d%d (%s):", i, s->given[i] ? "given times" : "activity clock");
            script_print_settings(&s->first[i], out);
        }
    }
    for (int i = 0; i < s->op_count; i++) {
        fprintf(out, "%4d. ", i + 1);
        script_print_op(&s->ops[i], out);
    }
}
