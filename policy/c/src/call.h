/* One call of an export: its key, its questions to the store, and the events that it tells. */
#ifndef CALL_H
#define CALL_H

#include "record.h"

typedef exports_breaker_event_t event_t;
typedef exports_breaker_list_event_t events_t;

typedef struct {
  const context_t *context;
  char key[PREFIX_MAX_BYTES + NAME_MAX_BYTES + sizeof ":s:{}"];
  uint32_t answered;  /* operations of the store */
  enum { GOES_ON, SUSPENDED, FAILED } state;
  string_t why;  /* it failed */
} call_t;

/* What is wrong with a name; NULL: nothing. */
const char *name_problem(const string_t *name, const char *reserved);

/* What is wrong with the names of a target; NULL: nothing. */
const char *target_problem(const target_t *target);

/* A call about a provider whose name is valid. */
call_t begin(const context_t *context, const string_t *provider);

/* Reads the provider's record. False: the call's state says why. What was seen has to be forgotten
 * in any case. */
bool look(call_t *call, seen_t *seen);
void forget(seen_t *seen);

/* Puts `after` where `seen` was. False: the call's state says why. `done`: whether nobody else had
 * changed it meanwhile. */
bool put(call_t *call, seen_t *seen, const record_t *after, bool *done);

/* Events: of the breaker's phase, a probe, an outcome that counts for nothing, the store. */
void tell_change(events_t *events, const call_t *call, const string_t *domain,
                 exports_breaker_phase_t before, const record_t *after, const char *rule,
                 const char *detail);
void tell_probe(events_t *events, const call_t *call, const string_t *domain, uint8_t outcome,
                const char *detail);
void tell_ignored(events_t *events, const call_t *call, const string_t *domain, uint8_t reason,
                  const char *detail);
/* Takes over why the call failed. */
void tell_store(events_t *events, call_t *call, const string_t *domain, const char *detail);

#endif
