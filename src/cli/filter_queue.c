/*
 * filter_queue.c - the ring of blocks between reader, judge and writer.
 *
 *       written        judged           filled
 *     ----|--------------|----------------|------------> block number
 *         | the writer's |   the judge's  | the reader's, up to written + HX_FILTER_BLOCKS
 *
 * A stage works on its block without the lock and takes it only to move its counter. The bound keeps memory small;
 * a slow reader of stdout stops the reading. When a stage ends early, those before it are cancelled (their next call
 * gives NULL) and those behind it finish what was handed to them.
 */
#include "cli/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int block_init(hx_filter_block *block, bool with_lines, bool with_dropped)
{
    block->cap = HX_FILTER_BLOCK_BYTES;
    block->data = malloc(block->cap);
    block->kept.runs = malloc((HX_FILTER_BLOCK_RECORDS + 2) * sizeof *block->kept.runs);
    if (block->data == NULL || block->kept.runs == NULL)
        return -ENOMEM;
    if (with_dropped) {
        block->dropped.runs = malloc((HX_FILTER_BLOCK_RECORDS + 2) * sizeof *block->dropped.runs);
        if (block->dropped.runs == NULL)
            return -ENOMEM;
    }
    if (with_lines) {
        block->line_positions = malloc(HX_FILTER_BLOCK_RECORDS * sizeof *block->line_positions);
        if (block->line_positions == NULL)
            return -ENOMEM;
    }
    return 0;
}

int hx_filter_queue_init(hx_filter_queue *queue, bool with_lines, bool with_dropped)
{
    memset(queue, 0, sizeof *queue);
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->blocks = calloc(HX_FILTER_BLOCKS, sizeof *queue->blocks);
    if (queue->blocks == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < HX_FILTER_BLOCKS; i++)
        if (block_init(&queue->blocks[i], with_lines, with_dropped) < 0)
            return -ENOMEM;
    return 0;
}

void hx_filter_queue_free(hx_filter_queue *queue)
{
    for (size_t i = 0; queue->blocks != NULL && i < HX_FILTER_BLOCKS; i++) {
        hx_filter_block *block = &queue->blocks[i];
        free(block->data);
        free(block->kept.runs);
        free(block->dropped.runs);
        free(block->line_positions);
        hx_buf_free(&block->verdicts);
        hx_select_state_free(block->state);
    }
    free(queue->blocks);
    queue->blocks = NULL;
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
}

hx_filter_block *hx_filter_queue_fill(hx_filter_queue *queue)
{
    hx_filter_block *block = NULL;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->judge_cancelled && !queue->judge_ended && queue->filled - queue->written >= HX_FILTER_BLOCKS)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (!queue->judge_cancelled && !queue->judge_ended)
        block = &queue->blocks[queue->filled % HX_FILTER_BLOCKS];
    pthread_mutex_unlock(&queue->mutex);
    return block;
}

hx_filter_block *hx_filter_queue_judge(hx_filter_queue *queue)
{
    hx_filter_block *block = NULL;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->judge_cancelled && queue->judged == queue->filled && !queue->fill_ended)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (!queue->judge_cancelled && queue->judged < queue->filled)
        block = &queue->blocks[queue->judged % HX_FILTER_BLOCKS];
    pthread_mutex_unlock(&queue->mutex);
    return block;
}

hx_filter_block *hx_filter_queue_write(hx_filter_queue *queue)
{
    hx_filter_block *block = NULL;
    pthread_mutex_lock(&queue->mutex);
    while (queue->written == queue->judged && !queue->judge_ended)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (queue->written < queue->judged)
        block = &queue->blocks[queue->written % HX_FILTER_BLOCKS];
    pthread_mutex_unlock(&queue->mutex);
    return block;
}

void hx_filter_queue_advance(hx_filter_queue *queue, uint64_t *counter)
{
    pthread_mutex_lock(&queue->mutex);
    (*counter)++;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

void hx_filter_queue_flag(hx_filter_queue *queue, bool *flag)
{
    pthread_mutex_lock(&queue->mutex);
    *flag = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

bool hx_filter_queue_writer_idle(hx_filter_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool idle = queue->written == queue->judged;
    pthread_mutex_unlock(&queue->mutex);
    return idle;
}

void hx_filter_queue_committed(hx_filter_queue *queue)
{
    hx_filter_queue_advance(queue, &queue->commits);
}

uint64_t hx_filter_queue_commits(hx_filter_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t commits = queue->commits;
    pthread_mutex_unlock(&queue->mutex);
    return commits;
}

bool hx_filter_queue_await_commit(hx_filter_queue *queue, uint64_t seen)
{
    bool late = false;
    return hx_filter_queue_await_commit_for(queue, seen, 0, &late);
}

bool hx_filter_queue_await_commit_for(hx_filter_queue *queue, uint64_t seen, int seconds, bool *ret_late)
{
    struct timespec end;
    int rc = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->judge_cancelled && !queue->commits_over && queue->commits == seen && rc == 0)
        rc = seconds > 0 ? pthread_cond_clockwait(&queue->changed, &queue->mutex, CLOCK_MONOTONIC, &end)
                         : pthread_cond_wait(&queue->changed, &queue->mutex);
    bool more = queue->commits != seen;
    pthread_mutex_unlock(&queue->mutex);
    *ret_late = rc == ETIMEDOUT && !more;
    return more;
}
