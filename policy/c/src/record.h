/* One provider's breaker, as it stands in the store.
 *
 * The record is a JSON text under the key `PREFIX:s:{PROVIDER}`. Its fields are those of schema 1
 * of Fusewire's own policy that are needed here, and `failures` beside them, so that either policy
 * can take a fleet over from the other and an open breaker stays open. Absent means closed, with no
 * failure. */
#ifndef RECORD_H
#define RECORD_H

#include "policy.h"

/* Whatever a record says, nobody waits longer than this for a probe that does not come back. */
#define LEASE_MAX_MS (3600 * 1000ull)
/* The longest wait that a provider can ask for. */
#define HINT_MAX_MS (6 * 3600 * 1000ull)

typedef struct {
  uint64_t revision;  /* makes no two writes alike, so that `swap` can tell them apart */
  exports_breaker_phase_t phase;
  uint64_t epoch;     /* when it last closed; zero: it has never tripped */
  uint64_t until;     /* until when it is open */
  uint64_t openings;  /* in a row */
  uint64_t passed;    /* probes in a row */
  uint64_t failures;  /* in a row, while it is closed */
  bool leased;
  char token[17];
  char owner[NAME_MAX_BYTES + 1];
  uint64_t lease_expires;
} record_t;

/* What was found under the key. */
typedef struct {
  fusewire_option_list_u8_t bytes;  /* to be expected by a swap */
  enum { ABSENT, KNOWN, NEWER } kind;
  record_t record;  /* of NEWER only the phase and `until`, read in the safest way */
} seen_t;

typedef enum { CLOSED, OPEN, PROBING, READY } standing_t;

/* Reads bytes, and takes them over. Bytes that cannot be read count as absent. */
void record_read(seen_t *seen, fusewire_option_list_u8_t *bytes, uint64_t now);

/* A record as a text on the heap, and how long it is to live, in ms. */
void record_write(const record_t *record, uint64_t now, string_t *text, uint64_t *ttl_ms);

/* What a call finds that asks now. */
standing_t record_standing(const record_t *record, uint64_t now);

/* The breaker opens. `hint_ms`: what the provider asked for. */
void record_open(record_t *record, uint64_t now, uint64_t hint_ms, uint64_t bits);

/* A probe passed: one more of those needed, or closed, and a new epoch. */
void record_pass(record_t *record, uint64_t now);

/* Whether a close may have given this epoch: no clock of a fleet is an hour off. */
bool record_is_epoch(uint64_t epoch, uint64_t now);

#endif
