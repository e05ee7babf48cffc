/*
 * compare.h - is what the library holds what the model holds?
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "model/model.h"

#include <stdio.h>

typedef struct compare_domain {
    hapax_domain *library;
    const model_domain *model;
    const model_store *store;
    unsigned char hashes[MODEL_IDS][16];
} compare_domain;

/* The bytes of an id, a source, a domain. Some ids are binary or long. */
const void *compare_id(int id, size_t *ret_len);
const char *compare_source(int source);
const char *compare_domain_name(int domain);

/* Each returns true, or false with what differs written to out. */
bool compare_contents(const compare_domain *c, FILE *out);
bool compare_answer(const compare_domain *c, const model_answer *want, const hapax_result *got, bool claim,
                    FILE *out);
bool compare_explanation(const compare_domain *c, int id, FILE *out);

#endif
