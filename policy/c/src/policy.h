/* What the parts of the policy share.
 *
 *   config.c      lifecycle: who the policy is, and its settings
 *   classifier.c  classifier and planner: what an outcome means, and what comes next
 *   breaker.c     breaker: may a call be made, and what becomes of its outcome
 *   call.c        what every call of it needs: names, questions to the store, events
 *   record.c      one provider's breaker, as it stands in the store
 *   json.c        reads the configuration and the record
 *
 * Memory: what the bindings hand over (arguments, answers of the store) is freed by whoever got
 * it, with the `_free` functions of the bindings; they skip what is empty. What an export answers
 * is on the heap, and the bindings free it after the host has read it. Between two calls nothing is
 * kept but the settings. */
#ifndef POLICY_H
#define POLICY_H

#include "fusewire.h"

typedef fusewire_string_t string_t;
typedef exports_classifier_target_t target_t;
typedef exports_classifier_verdict_t verdict_t;
typedef exports_breaker_context_t context_t;

/* The names of the contract, as wit-bindgen writes them. */
#define OUTCOME(name) EXPORTS_CLASSIFIER_OUTCOME_##name
#define EFFECT(name) EXPORTS_CLASSIFIER_EFFECT_##name
#define BLAME(name) EXPORTS_CLASSIFIER_BLAME_##name
#define PHASE(name) EXPORTS_BREAKER_PHASE_##name

/* The longest name of a provider, account, operation or instance, in bytes: wit/package.wit. */
#define NAME_MAX_BYTES 128
#define PREFIX_MAX_BYTES 64

/* A configuration in force. Spans are in ms. */
typedef struct {
  char prefix[PREFIX_MAX_BYTES + 1];
  uint64_t failures;  /* in a row, that open the breaker */
  uint64_t first_ms;  /* the first cool-down; each further one in a row is twice as long */
  uint64_t max_ms;    /* where that stops */
  uint64_t jitter;    /* the most that is added to a cool-down, in thousandths of it */
  uint64_t probes;    /* that must pass in a row to close it */
  uint64_t lease_ms;  /* how long a probe's lease lasts at least */
} settings_t;

extern settings_t settings;

/* Formats into a text of its own on the heap. */
void say(string_t *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Traps where there is no memory: the host drops the instance, and lets the call through. */
void *need(size_t size);

/* The sum, or the largest number where it would be larger. */
static inline uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* The difference, or zero where it would be less. */
static inline uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static inline uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* A part of `whole`, drawn evenly from nothing to all of it by random bits. `whole` is below
 * 2^48. */
static inline uint64_t part_of(uint64_t whole, uint64_t bits) { return whole * (bits >> 48) / 0xffff; }

#endif
