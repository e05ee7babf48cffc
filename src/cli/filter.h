/*
 * filter.h - the inside of `hapax filter`: what its files share.
 *
 *     files --> [reader] --> [judge] --> [writer] --> stdout or FILE      three threads and a ring of blocks
 *                                  \        |
 *                                   `--> store.record   store.commit (after the lines are out)
 *
 *     filter.c           the verb: opens everything, starts the threads, waits, closes
 *     filter_options.c   the table of options, and from words to hx_filter_options
 *     filter_domain.c    the domain is opened; its settings in the words of the options
 *     filter_queue.c     the ring of blocks
 *     filter_input.c     files one after the other as one stream of bytes; can start again
 *     filter_hash.c      a running hash of the input, to know it again
 *     filter_read.c      the reader: bytes to records to messages
 *     filter_judge.c     the judge: messages to verdicts to runs of bytes that are kept
 *     filter_write.c     the writer: runs to files, then sync, then commit
 *     filter_files.c     which files are written to; what cannot be is refused before anything is touched
 *     filter_output.c    the files written to: locked, cut, appended, replaced
 *     filter_bookmark.c  what the store keeps about an output file and the input that was judged
 *     filter_resume.c    is this the input of the last run? Then go on behind its judged part
 *     filter_ack.c       --ack-fd
 *     filter_control.c   signals and the progress bar while the threads run
 *     filter_summary.c   what is said at the end
 */
#ifndef HX_CLI_FILTER_H
#define HX_CLI_FILTER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <hapax.h>

#include "app/log.h"
#include "app/options.h"
#include "app/progress.h"
#include "base/buf.h"
#include "base/siphash.h"
#include "select/select.h"

/* ---- options ------------------------------------------------------------------------------------------------- */

typedef enum hx_filter_rule { HX_FILTER_PASS = 0, HX_FILTER_DROP, HX_FILTER_FAIL } hx_filter_rule;

typedef struct hx_filter_options {
    hx_select_options select;
    const char *ids[HX_SELECT_IDS_MAX];
    bool format_given;
    hapax_store_options store; /* path NULL: memory only */
    hapax_domain_options domain;
    const char *domain_name;
    int64_t max_record_bytes;
    const char *output, *duplicates, *verdicts;
    int ack_fd; /* -1: none */
    bool again, observe, json, help;
    hx_filter_rule missing, invalid;
    const char **files; /* owned array, borrowed words; at least one, "-" is stdin */
    size_t file_count;
} hx_filter_options;

/* The verb. */
int hx_filter_main(const hx_command *command, int argc, char **argv);

/* Returns 0 or the exit code, after saying why. */
int hx_filter_options_read(const hx_command *command, const hx_log *log, int argc, char **argv,
                           hx_filter_options *options);
void hx_filter_options_free(hx_filter_options *options);

/* ---- the input ----------------------------------------------------------------------------------------------- */

#define HX_FILTER_MARKS 48 /* powers of two at which the hash is kept */

/* A running hash of the input. See filter_hash.c. */
typedef struct hx_filter_hash {
    unsigned char key[HX_SIPHASH_KEY_LEN];
    uint64_t bytes;
    uint64_t marks[HX_FILTER_MARKS]; /* [k]: the hash after the first 2^k bytes, where there are that many */
    size_t mark_count;
    size_t chunk_len;
    unsigned char chunk[16 + 16384]; /* the value of the chain so far, then bytes not yet in it */
} hx_filter_hash;

void hx_filter_hash_init(hx_filter_hash *hash, const unsigned char key[HX_SIPHASH_KEY_LEN]);
void hx_filter_hash_add(hx_filter_hash *hash, const unsigned char *data, size_t len);
hx_hash hx_filter_hash_value(const hx_filter_hash *hash);

typedef struct hx_filter_file {
    int fd; /* -1: not open */
    bool seekable;
    int64_t start;       /* offset in the file at which it was handed to us */
    uint64_t spool_from; /* what was read of a file that cannot seek, in the spool */
    uint64_t spool_len;
} hx_filter_file;

typedef struct hx_filter_input {
    const hx_log *log;
    const char *const *paths;
    size_t count;
    hx_filter_file *files;
    unsigned char end; /* what a record ends in: LF or NUL */
    atomic_bool *stop; /* set: no more is read */
    int wake_fd;       /* readable when stop was set */
    size_t index;      /* current file; count: at the end */
    uint64_t offset;   /* bytes given out of the current file */
    bool last_is_end;  /* the last byte given out ends a record */
    bool spooling;     /* keep what cannot be read a second time */
    int spool_fd;
    uint64_t spool_len;
    hx_buf pushed; /* bytes to be given out again, before anything else */
    size_t pushed_at;
    uint64_t total_bytes;        /* of all files; 0: not known */
    _Atomic uint64_t read_bytes; /* for the progress bar */
} hx_filter_input;

/* Checks that every file can be opened. 0 or an exit code, after saying why. */
int hx_filter_input_init(hx_filter_input *input, const hx_log *log, const char *const *paths, size_t count, bool nul,
                         atomic_bool *stop, int wake_fd);
void hx_filter_input_free(hx_filter_input *input);

enum {
    HX_FILTER_FILE_END = 0,    /* of hx_filter_input_read: this file is at its end */
    HX_FILTER_STOPPED = -1,    /* stop was set */
    HX_FILTER_UNREADABLE = -2, /* said on stderr */
};

/* Up to cap bytes of the current file, as soon as there are any: their number, or one of the above. */
int64_t hx_filter_input_read(hx_filter_input *input, unsigned char *data, size_t cap);
/* Goes to the next file; false: there is none. */
bool hx_filter_input_next(hx_filter_input *input);
/* The current file, as messages name it. */
const char *hx_filter_input_name(const hx_filter_input *input);
/* From the very beginning again. What cannot seek must have been read with `spooling`. 0 or an exit code. */
int hx_filter_input_rewind(hx_filter_input *input);

/* How far the input was judged. */
typedef struct hx_filter_position {
    uint64_t bytes;
    uint64_t records;
    uint64_t last_len; /* content of the last record where it had no end; else 0 */
    hx_hash hash;      /* of these bytes */
    uint64_t marks[HX_FILTER_MARKS];
    size_t mark_count;
} hx_filter_position;

/* ---- blocks --------------------------------------------------------------------------------------------------- */

#define HX_FILTER_BLOCKS 8
#define HX_FILTER_BLOCK_BYTES ((size_t)256 << 10)
#define HX_FILTER_BLOCK_RECORDS 8192

typedef enum hx_filter_kind {
    HX_FILTER_MESSAGE = 0,
    HX_FILTER_INVALID,
    HX_FILTER_PIECE,  /* the front of a record that is longer than --max-record: no record of its own */
    HX_FILTER_HEADER, /* the first header */
    HX_FILTER_SKIP,   /* a later header, or a record that the last run judged */
} hx_filter_kind;

/* Runs of bytes to be written, pointing into a block. */
typedef struct hx_filter_runs {
    struct iovec *runs; /* room for HX_FILTER_BLOCK_RECORDS + 2 */
    size_t count;
    uint64_t bytes;
} hx_filter_runs;

typedef struct hx_filter_block {
    unsigned char *data; /* records stand one behind the other from 0 to ends[count - 1] */
    size_t len, cap;
    size_t count;
    size_t ends[HX_FILTER_BLOCK_RECORDS];
    uint8_t kinds[HX_FILTER_BLOCK_RECORDS];
    hapax_message messages[HX_FILTER_BLOCK_RECORDS];   /* those of kind MESSAGE, in order */
    unsigned char hashes[HX_FILTER_BLOCK_RECORDS][16]; /* of their ids, where the reader has time for it */
    size_t message_count;
    hx_select_state *state;      /* keeps what the messages point to */
    hx_filter_position position; /* behind the last record; only with a bookmark to write */

    hx_filter_runs kept, dropped; /* filled by the judge */
    hx_buf verdicts;
    uint64_t commit_position;          /* everything up to there may be durable once the runs are out; 0: nothing */
    bool out[HX_FILTER_BLOCK_RECORDS]; /* the judge's: a record that goes out */
    size_t out_count;
    const char *name;         /* the file it comes from; all its records come from one */
    uint64_t first_line;      /* of its first record */
    bool inside_record;       /* ends inside a record that is longer than --max-record */
    uint64_t *line_positions; /* --ack-fd: where the log stood in front of every line of `kept` */
    size_t line_count;
} hx_filter_block;

/*
 * The ring. Block number n is blocks[n % HX_FILTER_BLOCKS] and belongs to the reader until it is filled, then to the
 * judge until it is judged, then to the writer until it is written. One lock, one condition: three threads are few.
 */
typedef struct hx_filter_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hx_filter_block *blocks;
    uint64_t filled, judged, written; /* written <= judged <= filled <= written + HX_FILTER_BLOCKS */
    uint64_t commits;                 /* how often something was committed */
    bool fill_ended, judge_ended;     /* no more will come from that stage */
    bool judge_cancelled, write_ended;
    bool commits_over; /* --ack-fd: its other end is closed, nothing will be committed any more */
} hx_filter_queue;

int hx_filter_queue_init(hx_filter_queue *queue, bool with_lines, bool with_dropped);
void hx_filter_queue_free(hx_filter_queue *queue);
/* Each waits for its next block; NULL: there will be none. */
hx_filter_block *hx_filter_queue_fill(hx_filter_queue *queue);
hx_filter_block *hx_filter_queue_judge(hx_filter_queue *queue);
hx_filter_block *hx_filter_queue_write(hx_filter_queue *queue);
/* Hands it on. */
void hx_filter_queue_advance(hx_filter_queue *queue, uint64_t *counter);
/* Sets a flag and wakes everybody. */
void hx_filter_queue_flag(hx_filter_queue *queue, bool *flag);
bool hx_filter_queue_writer_idle(hx_filter_queue *queue);
/* Counts a commit; waits until there is a further one than `seen` (false: cancelled). */
void hx_filter_queue_committed(hx_filter_queue *queue);
uint64_t hx_filter_queue_commits(hx_filter_queue *queue);
bool hx_filter_queue_await_commit(hx_filter_queue *queue, uint64_t seen);
/* The same, for at most so long; *ret_late is set when that is over. */
bool hx_filter_queue_await_commit_for(hx_filter_queue *queue, uint64_t seen, int seconds, bool *ret_late);

/* ---- outputs --------------------------------------------------------------------------------------------------- */

typedef enum hx_filter_output_mode {
    HX_FILTER_OUTPUT_NONE = 0,
    HX_FILTER_OUTPUT_STREAM,   /* stdout, a terminal, a pipe: written as it comes */
    HX_FILTER_OUTPUT_REPLACED, /* a file beside the old one that takes its place at the end */
    HX_FILTER_OUTPUT_APPENDED, /* with a store: behind what is there */
    HX_FILTER_OUTPUT_KEPT,     /* --output with a store: as APPENDED, and its length stands in the store */
} hx_filter_output_mode;

typedef struct hx_filter_output {
    hx_filter_output_mode mode;
    const char *shown; /* as messages name it */
    char *path;        /* absolute, links resolved; owned */
    char *temp_path;   /* REPLACED; owned */
    int fd;
    int lock_fd; /* REPLACED: the old file, locked as long as we mean to take its place; -1: there is none */
    bool owned_fd;
    bool created;                    /* by this run */
    bool regular;                    /* can be synced */
    uint64_t length;                 /* the judge's: as it will be once all that was judged is out */
    uint64_t written;                /* the writer's: as it is now; of stdout the place in the file */
    uint64_t whole;                  /* the writer's: behind the last whole line */
    uint64_t partial;                /* of a write that failed: the bytes that went out, */
    const unsigned char *stopped_at; /* and the first one that did not */
    bool separator_due;              /* the judge's: what is there has no end, so one comes before the first record */
} hx_filter_output;

typedef struct hx_filter_outputs {
    hx_filter_output kept, dropped, verdicts;
} hx_filter_outputs;

typedef struct hx_filter_run hx_filter_run;

/* Looks at all files that the options ask for, and refuses what must not be; touches nothing. 0 or exit code. */
int hx_filter_files_check(hx_filter_run *run);
/* Opens them. Without --output and store nothing of an old file is touched yet. 0 or exit code. */
int hx_filter_outputs_open(hx_filter_run *run);
/* All that was written is on disk, and nobody else wrote. 0 or an exit code. */
int hx_filter_outputs_sync(hx_filter_run *run);
/* Puts files in place (`good`) or takes unfinished ones away. 0 or an exit code. */
int hx_filter_outputs_close(hx_filter_run *run, bool good);
/* Writes all runs. 0 or a negative errno. */
int hx_filter_output_write(hx_filter_output *output, struct iovec *runs, size_t count, uint64_t bytes);

/* ---- bookmarks ---------------------------------------------------------------------------------------------------
 */

typedef struct hx_filter_bookmark {
    bool known;
    bool ended;      /* the run that wrote it came to its end: the file has exactly this length */
    uint64_t length; /* of the file */
    bool has_input;
    bool same_command; /* written by a run with the same domain and the same selection */
    unsigned char key[HX_SIPHASH_KEY_LEN];
    hx_filter_position position;
} hx_filter_bookmark;

int hx_filter_bookmark_get(hx_filter_run *run, const hx_filter_output *output, hx_filter_bookmark *ret);
/*
 * Sets the bookmarks of all KEPT outputs to their `length` and the input to `position`, behind all that was judged.
 * 0, or a negative hapax_status with run->error filled. *ret_position is for hapax_commit.
 */
int hx_filter_bookmark_set(hx_filter_run *run, const hx_filter_position *position, bool ended, uint64_t *ret_position,
                           hapax_error *ret_error);

/* ---- the run ------------------------------------------------------------------------------------------------------
 */

typedef struct hx_filter_counts {
    _Atomic uint64_t in, out, new, duplicate, unchecked, stale, invalid;
} hx_filter_counts;

typedef struct hx_filter_ack {
    pthread_t thread;
    bool started;
    int wake_fd;              /* readable when the writer has ended */
    uint64_t *positions;      /* ring of HX_FILTER_ACK_LINES, by number of the line; under queue.mutex */
    uint64_t tail;            /* position behind the last block that was offered; under queue.mutex */
    uint64_t offered;         /* lines handed to stdout; under queue.mutex */
    uint64_t acknowledged;    /* of them; under queue.mutex */
    atomic_bool closed_early; /* N was closed and there was more to write */
} hx_filter_ack;

#define HX_FILTER_ACK_LINES 262144

struct hx_filter_run {
    const hx_filter_options *options;
    hx_log log;
    hx_progress progress;
    hx_select_plan *plan;
    hapax_store *store;
    hapax_domain *domain;
    hapax_open_report open_report;
    hx_filter_input input;
    hx_filter_queue queue;
    hx_filter_outputs outputs;
    hx_filter_ack ack;
    hx_filter_counts counts;

    uint64_t sources_over_limit; /* messages judged without a window before this run */
    bool durable;                /* there is a store on disk */
    bool bookmarked;             /* --output with a store */
    bool write_header;           /* the first header goes out */
    atomic_bool stop;            /* read no more */
    int wake_fd;                 /* eventfd: stop was set */
    int done_fd;                 /* eventfd: the writer has ended */
    _Atomic int exit_code;       /* the first one that is not 0 stays */
    atomic_bool broken_pipe;     /* stdout's reader has gone */
    atomic_bool write_failed;    /* lines that were judged did not go out: what is held back must not be written */
    atomic_bool judge_failed;    /* the store refused: what it judged of that block must not be written either */
    _Atomic int signal;          /* that ended the run, or 0 */

    /* where the reader begins */
    hx_filter_hash hash;
    uint64_t start_records; /* judged by earlier runs */
    uint64_t start_bytes;
    uint64_t start_last_len; /* the first record is known if it has this length; 0: it is not */
    uint64_t start_line;     /* line ends before the start in its file */
    bool start_in_file;      /* not at a file's beginning: no header there */
    bool resumed;
    bool other_input; /* not the one that was judged last: from its start */
    bool begun;       /* the first bookmark is in the store */

    /* the judge's */
    hapax_result *results;
    hx_filter_position judged; /* behind the last judged block */
    bool judged_inside;        /* and that block ended inside a record: nothing can be recorded there */
    uint64_t last_position;    /* in the store's log */

    /* the writer's */
    uint64_t pending_position; /* out, but not committed; 0: none */
    uint64_t pending_records;
};

/* Remembers the first exit code that is not 0, and stops the reading. */
void hx_filter_fail(hx_filter_run *run, int exit_code);
void hx_filter_stop(hx_filter_run *run);

/* Opens the domain and says what changed. 0 or an exit code, after saying why. */
int hx_filter_domain_open(hx_filter_run *run);

/* Finds out where to begin: sets start_* and hash. 0 or an exit code. */
int hx_filter_resume(hx_filter_run *run, const hx_filter_bookmark *bookmark);

/* The threads; arg is the run. */
void *hx_filter_reader(void *arg);
void *hx_filter_judge(void *arg);
void *hx_filter_writer(void *arg);
void *hx_filter_acknowledger(void *arg);

/* Makes what is out durable: sync, commit. 0 or an exit code, after saying why. */
int hx_filter_commit(hx_filter_run *run, uint64_t position);

int hx_filter_ack_init(hx_filter_run *run);
/* Before a block's lines are written: their positions. false: they must not be written. */
bool hx_filter_ack_offer(hx_filter_run *run, const hx_filter_block *block);
/* Is every line acknowledged that was offered? Then what follows without a line may be committed at once. */
bool hx_filter_ack_all(hx_filter_run *run);
/* As hx_filter_queue_await_commit; says after a while what it waits for. */
bool hx_filter_ack_await(hx_filter_run *run, uint64_t seen);

/* Signals to take and how: call before the store is opened, its threads inherit it. */
void hx_filter_signals_block(void);
/* A signal that came while no thread runs ends the program at once. */
void hx_filter_signals_check(void);
/* Waits for the end of the writer and the acknowledger; draws the bar; stops at the first signal, dies at the second.
 */
void hx_filter_control(hx_filter_run *run);
/* A thread that hx_filter_control waits for has ended. */
void hx_filter_done(hx_filter_run *run);
/* Ends the process by a signal as if it had not been caught. */
void hx_filter_die(int signal_number);

void hx_filter_summary(hx_filter_run *run, int64_t run_ms);

#endif
