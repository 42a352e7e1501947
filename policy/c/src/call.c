#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *need(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) abort();
  return memory;
}

void say(string_t *to, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int len = vsnprintf(NULL, 0, format, values);
  va_end(values);
  *to = (string_t){NULL, 0};
  if (len <= 0) return;
  char *text = need((size_t)len + 1);
  va_start(values, format);
  (void)vsnprintf(text, (size_t)len + 1, format, values);
  va_end(values);
  *to = (string_t){(uint8_t *)text, (size_t)len};
}

const char *name_problem(const string_t *name, const char *reserved) {
  if (name->len == 0) return "a part of the target has no name";
  if (name->len > NAME_MAX_BYTES) return "a name of the target has more than 128 bytes";
  for (size_t i = 0; i < name->len; i++) {
    uint8_t c = name->ptr[i];
    /* The second half of the controls, U+0080 to U+009F, has two bytes in UTF-8. */
    bool high = c == 0xc2 && i + 1 < name->len && name->ptr[i + 1] < 0xa0;
    if (c < 0x20 || c == 0x7f || high) return "a name of the target has a control character in it";
    if (strchr(reserved, c) != NULL) return "a name of the target has one of {}@/ in it";
  }
  return NULL;
}

const char *target_problem(const target_t *target) {
  const char *wrong = name_problem(&target->provider, "{}@/");
  if (wrong == NULL && target->account.is_some) wrong = name_problem(&target->account.val, "{}@/");
  if (wrong == NULL && target->operation.is_some) wrong = name_problem(&target->operation.val, "");
  return wrong;
}

call_t begin(const context_t *context, const string_t *provider) {
  call_t call = {.context = context};
  size_t len = strlen(settings.prefix);
  memcpy(call.key, settings.prefix, len);
  /* The braces keep all of a provider's keys on one node of a Redis Cluster. */
  memcpy(call.key + len, ":s:{", 4);
  memcpy(call.key + len + 4, provider->ptr, provider->len);
  memcpy(call.key + len + 4 + provider->len, "}", 2);
  return call;
}

static string_t key_of(call_t *call) {
  return (string_t){(uint8_t *)call->key, strlen(call->key)};
}

/* Takes over an error of the store. */
static bool failed(call_t *call, keyvalue_error_t *error) {
  call->state = error->tag == KEYVALUE_ERROR_PENDING ? SUSPENDED : FAILED;
  if (error->tag == KEYVALUE_ERROR_UNAVAILABLE)
    say(&call->why, "the store is out of reach");
  else if (error->tag == KEYVALUE_ERROR_REFUSED)
    call->why = error->val.refused;
  return false;
}

bool look(call_t *call, seen_t *seen) {
  string_t key = key_of(call);
  fusewire_list_string_t keys = {&key, 1};
  fusewire_list_option_list_u8_t values;
  keyvalue_error_t error;
  *seen = (seen_t){.kind = ABSENT};
  if (!keyvalue_get(&keys, &values, &error)) return failed(call, &error);
  call->answered++;
  if (values.len == 1) record_read(seen, &values.ptr[0], call->context->now_ms);
  fusewire_list_option_list_u8_free(&values);
  return true;
}

bool put(call_t *call, seen_t *seen, const record_t *after, bool *done) {
  string_t key = key_of(call), text;
  uint64_t ttl_ms;
  keyvalue_error_t error;
  record_write(after, call->context->now_ms, &text, &ttl_ms);
  fusewire_list_u8_t replacement = {text.ptr, text.len};
  fusewire_list_u8_t *expected = seen->bytes.is_some ? &seen->bytes.val : NULL;
  bool answered = keyvalue_swap(&key, expected, &replacement, ttl_ms, done, &error);
  fusewire_string_free(&text);
  if (!answered) return failed(call, &error);
  call->answered++;
  return true;
}

void forget(seen_t *seen) { fusewire_option_list_u8_free(&seen->bytes); }

static event_t *tell(events_t *events, const call_t *call, const string_t *domain, uint8_t kind,
                     const char *detail) {
  event_t *all = realloc(events->ptr, (events->len + 1) * sizeof *all);
  if (all == NULL) abort();
  events->ptr = all;
  event_t *event = &all[events->len++];
  *event = (event_t){.at_ms = call->context->now_ms, .kind.tag = kind};
  say(&event->domain, "%.*s", (int)domain->len, domain->len == 0 ? "" : (const char *)domain->ptr);
  say(&event->detail, "%s", detail);
  return event;
}

void tell_change(events_t *events, const call_t *call, const string_t *domain,
                        exports_breaker_phase_t before, const record_t *after, const char *rule,
                        const char *detail) {
  event_t *event = tell(events, call, domain, EXPORTS_BREAKER_EVENT_KIND_TRANSITION, detail);
  exports_breaker_transition_t *change = &event->kind.val.transition;
  change->before = before;
  change->after = after->phase;
  change->until_ms = after->phase == PHASE(OPEN) ? after->until : 0;
  change->openings = (uint32_t)after->openings;
  say(&change->rule, "%s", rule);
}

void tell_probe(events_t *events, const call_t *call, const string_t *domain, uint8_t outcome,
                       const char *detail) {
  tell(events, call, domain, EXPORTS_BREAKER_EVENT_KIND_PROBE, detail)->kind.val.probe = outcome;
}

void tell_ignored(events_t *events, const call_t *call, const string_t *domain, uint8_t reason,
                         const char *detail) {
  tell(events, call, domain, EXPORTS_BREAKER_EVENT_KIND_IGNORED, detail)->kind.val.ignored = reason;
}

void tell_store(events_t *events, call_t *call, const string_t *domain, const char *detail) {
  tell(events, call, domain, EXPORTS_BREAKER_EVENT_KIND_STORE, detail)->kind.val.store = call->why;
  call->why = (string_t){NULL, 0};
}
