/*
 * model_rules.h - rules 1 to 12 on one domain, without a store around it. See model_rules.c.
 */
#ifndef MODEL_RULES_H
#define MODEL_RULES_H

#include "model/model.h"

/* Rules 1 to 5, 7, 10, 12a to c, e. claim_number is the one that a NEW claim gets. */
void model_rules_judge(model_domain *domain, const model_message *message, const model_moment *at, bool record,
                       uint64_t claim_number, model_answer *ret_answer);
/* Rules 12c and d; the claim has to be open. */
void model_rules_confirm(model_domain *domain, uint64_t claim, int64_t time_ms, const model_moment *at);
int64_t model_rules_confirm_time(const model_domain *domain, int64_t time_ms, const model_moment *at);
void model_rules_release(model_domain *domain, uint64_t claim);
/* Rule 9: the settings are all set. */
void model_rules_apply_settings(model_domain *domain, const hapax_domain_options *settings);

/* A claim that is open although its id was judged known: only after a crash, see model_store.c. */
void model_rules_open_claim(model_domain *domain, uint64_t claim, const model_message *message,
                            const model_moment *at);

int model_rules_find_claim(const model_domain *domain, uint64_t claim);

#endif
