#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"

#define SCHEMA 1
/* How long without an opening until the next one counts as the first again; and how long after its
 * last change a closed record is remembered. */
#define QUIET_MS (600 * 1000ull)
/* How long an opening is remembered after its cool-down when nobody calls. */
#define IDLE_MS (3600 * 1000ull)
/* How far ahead of the present an epoch may lie. */
#define EPOCH_AHEAD_MAX_MS (3600 * 1000ull)
/* How long to refuse by the word of a newer record that does not say until when. */
#define NEWER_WAIT_MS 1000ull

static const char *const PHASES[] = {
    [PHASE(CLOSED)] = "closed", [PHASE(OPEN)] = "open", [PHASE(HALF_OPEN)] = "half-open"};

static uint64_t whole(json_t object, const char *name) {
  uint64_t number;
  return json_whole(json_get(object, name), &number) ? number : 0;
}

static uint64_t longest_opening(uint64_t now) {
  return plus(now, most(settings.max_ms + settings.max_ms * settings.jitter / 1000, HINT_MAX_MS));
}

bool record_is_epoch(uint64_t epoch, uint64_t now) { return epoch <= plus(now, EPOCH_AHEAD_MAX_MS); }

static bool is_token(const char *text) {
  return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

/* Fills in what a record says; false where it cannot be read, or counts no longer. */
static bool read_fields(seen_t *seen, uint64_t now) {
  json_t root;
  uint64_t schema;
  record_t *record = &seen->record;
  if (!json_read(seen->bytes.val.ptr, seen->bytes.val.len, &root) ||
      !json_whole(json_get(root, "schema"), &schema))
    return false;
  json_t phase = json_get(root, "phase");
  if (schema > SCHEMA) {
    seen->kind = NEWER;
    record->phase = json_is(phase, PHASES[PHASE(CLOSED)]) ? PHASE(CLOSED) : PHASE(OPEN);
    record->until = least(most(whole(root, "until"), plus(now, NEWER_WAIT_MS)), longest_opening(now));
    return true;
  }
  exports_breaker_phase_t at = 0;
  while (!json_is(phase, PHASES[at]))
    if (++at > PHASE(HALF_OPEN)) return false;
  uint64_t expires = whole(root, "expires");
  record->epoch = whole(root, "epoch");
  if ((expires != 0 && expires <= now) || !record_is_epoch(record->epoch, now)) return false;
  seen->kind = KNOWN;
  record->phase = at;
  record->revision = whole(root, "revision");
  record->openings = least(whole(root, "openings"), UINT32_MAX);
  record->passed = least(whole(root, "passed"), UINT32_MAX);
  record->failures = least(whole(root, "failures"), UINT32_MAX);
  /* A damaged record, or a writer with a wrong clock, keeps nothing open for ever. */
  record->until = least(whole(root, "until"), longest_opening(now));
  json_t lease = json_get(root, "lease");
  record->lease_expires = least(whole(lease, "expires"), plus(now, LEASE_MAX_MS));
  record->leased = json_text(json_get(lease, "token"), record->token, sizeof record->token) &&
                   is_token(record->token) &&
                   json_text(json_get(lease, "owner"), record->owner, sizeof record->owner);
  return true;
}

void record_read(seen_t *seen, fusewire_option_list_u8_t *bytes, uint64_t now) {
  *seen = (seen_t){.bytes = *bytes, .kind = ABSENT};
  *bytes = (fusewire_option_list_u8_t){0};
  if (seen->bytes.is_some && read_fields(seen, now)) return;
  seen->kind = ABSENT;
  seen->record = (record_t){0};
}

/* `"` and `\` with a backslash before them; an instance's name has no control character. */
static void escape(const char *text, char *to) {
  for (; *text != 0; text++) {
    if (*text == '"' || *text == '\\') *to++ = '\\';
    *to++ = *text;
  }
  *to = 0;
}

void record_write(const record_t *record, uint64_t now, string_t *text, uint64_t *ttl_ms) {
  char owner[2 * NAME_MAX_BYTES + 1];
  string_t lease = {NULL, 0};
  uint64_t waits = record->phase == PHASE(CLOSED) ? 0
                   : record->phase == PHASE(OPEN) ? minus(record->until, now)
                   : record->leased               ? minus(record->lease_expires, now)
                                                  : 0;
  *ttl_ms = plus(waits, record->phase == PHASE(CLOSED) ? QUIET_MS : IDLE_MS);
  if (record->leased) {
    escape(record->owner, owner);
    say(&lease, "\"lease\":{\"token\":\"%s\",\"owner\":\"%s\",\"expires\":%llu},", record->token, owner,
        record->lease_expires);
  }
  say(text,
      "{\"schema\":%d,\"revision\":%llu,\"phase\":\"%s\",\"epoch\":%llu,\"until\":%llu,"
      "\"openings\":%llu,\"passed\":%llu,\"failures\":%llu,%.*s\"expires\":%llu}",
      SCHEMA, plus(record->revision, 1), PHASES[record->phase], record->epoch, record->until,
      record->openings, record->passed, record->failures, (int)lease.len,
      lease.len == 0 ? "" : (const char *)lease.ptr, plus(now, *ttl_ms));
  fusewire_string_free(&lease);
}

standing_t record_standing(const record_t *record, uint64_t now) {
  if (record->phase == PHASE(CLOSED)) return CLOSED;
  if (record->phase == PHASE(OPEN)) return now < record->until ? OPEN : READY;
  return record->leased && now < record->lease_expires ? PROBING : READY;
}

void record_open(record_t *record, uint64_t now, uint64_t hint_ms, uint64_t bits) {
  bool quiet = record->phase == PHASE(CLOSED) && minus(now, record->epoch) >= QUIET_MS;
  record->openings = quiet ? 1 : least(record->openings + 1, UINT32_MAX);
  uint64_t length = settings.first_ms;
  for (uint64_t i = 1; i < record->openings && length < settings.max_ms; i++) length *= 2;
  length = least(length, settings.max_ms);
  /* Added, never taken away: nothing shortens a cool-down. */
  length += part_of(length * settings.jitter / 1000, bits);
  record->phase = PHASE(OPEN);
  record->until = plus(now, most(length, least(hint_ms, HINT_MAX_MS)));
  record->passed = record->failures = 0;
  record->leased = false;
}

void record_pass(record_t *record, uint64_t now) {
  record->leased = false;
  record->passed += 1;
  if (record->passed < settings.probes) return;
  record->phase = PHASE(CLOSED);
  /* Later than any before it, whatever the clock says. */
  record->epoch = most(now, record->epoch + 1);
  record->until = record->passed = record->failures = 0;
}
