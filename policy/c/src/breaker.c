/* The interface `breaker`: may a call be made, and what becomes of its outcome.
 *
 * One breaker for each provider. It opens after so many failures in a row, whichever host of the
 * fleet saw them, and refuses until its cool-down is over. Then one caller of the fleet takes a
 * lease, by a swap that only one can win, and makes a probe. Enough probes that pass close it, one
 * that fails opens it again for twice as long.
 *
 * # Suspension
 *
 * Each export begins anew when the host calls it again, and asks the store the same things in the
 * same order, since what it asks depends on nothing but its arguments and the answers. So nothing
 * is kept for a call that is suspended: see wit/package.wit. */
#include <string.h>

#include "call.h"

/* How often a record that changes under a writer is read again. Each round lost means that another
 * host made progress. */
#define ROUNDS 4
/* How long an admission holds where the record does not change, in ms. */
#define CLOSED_HOLDS_MS 60000
/* How much longer than its call a lease lasts, in ms: the outcome has to be told yet. */
#define TELLING_MS 1000

typedef exports_breaker_admission_t admission_t;
typedef exports_breaker_suspended_t suspended_t;

/* --- admit ------------------------------------------------------------------------------------ */

static void refuse(admission_t *to, const target_t *target, uint8_t reason, uint64_t now,
                   uint64_t until, const char *detail) {
  exports_breaker_refusal_t *refusal = &to->decision.val.refused;
  to->decision.tag = EXPORTS_BREAKER_DECISION_REFUSED;
  to->holds_until_ms = until;
  refusal->reason = reason;
  refusal->retry_after_ms = most(minus(until, now), 1);
  say(&refusal->domain, "%.*s", (int)target->provider.len, (char *)target->provider.ptr);
  say(&refusal->detail, "%s", detail);
}

/* The permit takes the target over: it is the bindings' from now on. */
static void allow(admission_t *to, target_t *target, bool probe, uint64_t holds_until) {
  exports_breaker_permit_t *permit = &to->decision.val.allowed;
  to->decision.tag = EXPORTS_BREAKER_DECISION_ALLOWED;
  to->holds_until_ms = holds_until;
  permit->probe = probe;
  permit->target = *target;
  *target = (target_t){0};
}

/* Takes the lease in `record`. */
static void lease(record_t *record, const context_t *context) {
  static const char HEX[] = "0123456789abcdef";
  uint64_t call_ms = context->call_limit_ms.is_some ? plus(context->call_limit_ms.val, TELLING_MS) : 0;
  record->phase = PHASE(HALF_OPEN);
  record->leased = true;
  record->lease_expires =
      plus(context->now_ms, least(most(settings.lease_ms, call_ms), LEASE_MAX_MS));
  for (int i = 0; i < 16; i++) record->token[i] = HEX[context->entropy >> (60 - 4 * i) & 15];
  record->token[16] = 0;
  bool valid = name_problem(&context->instance, "") == NULL;
  size_t len = valid ? context->instance.len : 0;
  if (valid) memcpy(record->owner, context->instance.ptr, len);
  record->owner[len] = 0;
}

/* One look at the record. False: it suspends or fails, or another call took the lease first
 * (the call's state tells which). */
static bool decide(call_t *call, target_t *target, admission_t *to, seen_t *seen) {
  uint64_t now = call->context->now_ms;
  if (!look(call, seen)) return false;
  const record_t *before = &seen->record;
  switch (seen->kind == ABSENT ? CLOSED : record_standing(before, now)) {
    case CLOSED:
      say(&to->decision.val.allowed.token, "c:%llu", before->epoch);
      allow(to, target, false, plus(now, CLOSED_HOLDS_MS));
      return true;
    case OPEN:
      refuse(to, target, EXPORTS_BREAKER_REFUSAL_REASON_OPEN, now, before->until,
             seen->kind == NEWER ? "the breaker is not closed, by the word of a newer policy"
                                 : "the breaker is open after failures in a row");
      return true;
    case PROBING:
      refuse(to, target, EXPORTS_BREAKER_REFUSAL_REASON_PROBE_IN_FLIGHT, now, before->lease_expires,
             "another call is testing the recovery");
      return true;
    case READY: break;
  }
  record_t after = *before;
  bool done;
  lease(&after, call->context);
  if (!put(call, seen, &after, &done) || !done) return false;
  if (before->phase == PHASE(OPEN))
    tell_change(&to->events, call, &target->provider, PHASE(OPEN), &after, "cool-down-over",
                "the cool-down is over, and this call is the probe");
  else if (before->leased)
    tell_probe(&to->events, call, &target->provider, EXPORTS_BREAKER_PROBE_OUTCOME_EXPIRED,
               "the probe before did not come back, and this call takes its place");
  say(&to->decision.val.allowed.token, "l:%s", after.token);
  allow(to, target, true, now);
  return true;
}

bool exports_breaker_admit(target_t *target, context_t *context, admission_t *ret, suspended_t *err) {
  *ret = (admission_t){0};
  bool suspended = false;
  const char *wrong = target_problem(target);
  if (wrong != NULL) {
    ret->decision.tag = EXPORTS_BREAKER_DECISION_REFUSED;
    ret->decision.val.refused.reason = EXPORTS_BREAKER_REFUSAL_REASON_INVALID_TARGET;
    say(&ret->decision.val.refused.detail, "%s", wrong);
    ret->holds_until_ms = UINT64_MAX;
  } else {
    call_t call = begin(context, &target->provider);
    bool decided = false;
    for (int round = 0; !decided && call.state == GOES_ON && round < ROUNDS; round++) {
      seen_t seen;
      decided = decide(&call, target, ret, &seen);
      forget(&seen);
    }
    if (call.state == FAILED) {
      tell_store(&ret->events, &call, &target->provider, "allowed, since the store did not answer");
      say(&ret->decision.val.allowed.token, "u");
      allow(ret, target, false, context->now_ms);
    } else if (call.state == GOES_ON && !decided) {
      refuse(ret, target, EXPORTS_BREAKER_REFUSAL_REASON_PROBE_IN_FLIGHT, context->now_ms,
             plus(context->now_ms, settings.lease_ms), "other calls are testing the recovery");
      ret->holds_until_ms = context->now_ms;
    }
    suspended = call.state == SUSPENDED;
    err->answered = call.answered;
  }
  exports_breaker_target_free(target);
  exports_breaker_context_free(context);
  return !suspended;
}

/* --- settle ----------------------------------------------------------------------------------- */

/* What an outcome is to the provider. */
typedef enum { NOTHING, SUCCESS, FAILURE } share_t;

/* A failure of an account or an operation that the target names is none of the provider's: it
 * answered. */
static share_t share_of(const exports_breaker_ending_t *ending, const target_t *target) {
  if (ending->tag == EXPORTS_BREAKER_ENDING_DROPPED) return NOTHING;
  const verdict_t *verdict = &ending->val.judged;
  if (verdict->effect == EFFECT(NEUTRAL)) return NOTHING;
  if (verdict->effect != EFFECT(FAILURE)) return SUCCESS;
  bool elsewhere = (verdict->blame == BLAME(ACCOUNT) && target->account.is_some) ||
                   (verdict->blame == BLAME(OPERATION) && target->operation.is_some);
  return elsewhere ? SUCCESS : FAILURE;
}

/* One outcome on its way into the record. */
typedef struct {
  call_t *call;
  const string_t *provider;
  share_t share;
  uint64_t hint_ms;
  events_t *events;
} outcome_t;

/* An outcome of a probe. Answers whether all is done; false also where the call ended. */
static bool settle_probe(outcome_t *o, const char *token, seen_t *seen) {
  const context_t *context = o->call->context;
  record_t after = seen->record;
  if (seen->kind != KNOWN || after.phase != PHASE(HALF_OPEN) || !after.leased ||
      strcmp(after.token, token) != 0) {
    tell_ignored(o->events, o->call, o->provider, EXPORTS_BREAKER_IGNORED_REASON_LEASE_LOST,
                 "another call holds the probe lease by now");
    return true;
  }
  after.leased = false;
  if (o->share == SUCCESS) record_pass(&after, context->now_ms);
  if (o->share == FAILURE) record_open(&after, context->now_ms, o->hint_ms, context->entropy);
  bool done;
  if (!put(o->call, seen, &after, &done) || !done) return false;
  switch (o->share) {
    case NOTHING:
      tell_probe(o->events, o->call, o->provider, EXPORTS_BREAKER_PROBE_OUTCOME_NEUTRAL,
                 "the probe says nothing, and the lease is free again");
      break;
    case SUCCESS:
      tell_probe(o->events, o->call, o->provider, EXPORTS_BREAKER_PROBE_OUTCOME_PASSED, "a probe passed");
      if (after.phase == PHASE(CLOSED))
        tell_change(o->events, o->call, o->provider, PHASE(HALF_OPEN), &after, "probes-passed",
                    "enough probes passed in a row");
      break;
    case FAILURE:
      tell_probe(o->events, o->call, o->provider, EXPORTS_BREAKER_PROBE_OUTCOME_FAILED, "a probe failed");
      tell_change(o->events, o->call, o->provider, PHASE(HALF_OPEN), &after, "probe-failed",
                  "a probe failed, so it is open again");
      break;
  }
  return true;
}

/* An outcome of a call that was admitted in this epoch. Answers as settle_probe does. */
static bool settle_counted(outcome_t *o, uint64_t epoch, seen_t *seen) {
  const context_t *context = o->call->context;
  record_t after = seen->record;
  /* A record of a newer policy is left alone; a record that was lost is begun again in the epoch
   * that the call knows of. */
  if (seen->kind == NEWER && after.phase == PHASE(CLOSED)) return true;
  if (seen->kind != KNOWN) after.epoch = epoch;
  if (after.epoch != epoch) {
    tell_ignored(o->events, o->call, o->provider, EXPORTS_BREAKER_IGNORED_REASON_STALE,
                 "admitted before the breaker last closed");
    return true;
  }
  if (after.phase != PHASE(CLOSED)) {
    if (o->share == FAILURE)
      tell_ignored(o->events, o->call, o->provider, EXPORTS_BREAKER_IGNORED_REASON_LATE,
                   "the breaker opened while the call was under way");
    return true;
  }
  /* While all goes well nothing is written: a success ends a row of failures only where there is
   * one. */
  if (o->share == SUCCESS && after.failures == 0) return true;
  after.failures = o->share == FAILURE ? after.failures + 1 : 0;
  bool trips = after.failures >= settings.failures;
  if (trips) record_open(&after, context->now_ms, o->hint_ms, context->entropy);
  bool done;
  if (!put(o->call, seen, &after, &done) || !done) return false;
  if (trips)
    tell_change(o->events, o->call, o->provider, PHASE(CLOSED), &after, "failures",
                "too many failures in a row");
  return true;
}

/* A permit's text: `c:` and an epoch, `l:` and a lease's token, or `u`: admitted without the
 * store. False: it is none of ours. */
static bool read_token(const string_t *text, uint64_t now, uint64_t *epoch, char *token, char *kind) {
  *kind = text->len == 0 ? 0 : (char)text->ptr[0];
  if (*kind == 'u') return text->len == 1;
  if (text->len < 3 || text->ptr[1] != ':') return false;
  const uint8_t *rest = text->ptr + 2;
  size_t len = text->len - 2;
  if (*kind == 'l' && len == 16) {
    memcpy(token, rest, 16);
    token[16] = 0;
    return strspn(token, "0123456789abcdef") == 16;
  }
  *epoch = 0;
  for (size_t i = 0; i < len; i++) {
    if (rest[i] < '0' || rest[i] > '9' || *epoch > (UINT64_MAX - 9) / 10) return false;
    *epoch = *epoch * 10 + (uint64_t)(rest[i] - '0');
  }
  return *kind == 'c' && record_is_epoch(*epoch, now);
}

bool exports_breaker_settle(exports_breaker_permit_t *permit, exports_breaker_ending_t *ending,
                            context_t *context, events_t *ret, suspended_t *err) {
  *ret = (events_t){NULL, 0};
  call_t call = {.context = context};
  string_t nobody = {NULL, 0};
  uint64_t epoch = 0;
  char token[17] = {0}, kind;
  outcome_t outcome = {&call, &permit->target.provider, share_of(ending, &permit->target), 0, ret};
  if (ending->tag == EXPORTS_BREAKER_ENDING_JUDGED && ending->val.judged.retry_after_ms.is_some)
    outcome.hint_ms = ending->val.judged.retry_after_ms.val;
  if (target_problem(&permit->target) != NULL ||
      !read_token(&permit->token, context->now_ms, &epoch, token, &kind)) {
    tell_ignored(ret, &call, &nobody, EXPORTS_BREAKER_IGNORED_REASON_INVALID_PERMIT,
                 "the permit is not one of this policy");
  } else if (kind == 'u') {
    if (outcome.share != NOTHING)
      tell_ignored(ret, &call, outcome.provider, EXPORTS_BREAKER_IGNORED_REASON_UNSHARED,
                   "admitted while the store was out of reach");
  } else if (kind == 'l' || outcome.share != NOTHING) {
    bool done = false;
    call = begin(context, outcome.provider);
    for (int round = 0; !done && call.state == GOES_ON && round < ROUNDS; round++) {
      seen_t seen;
      done = look(&call, &seen) && (kind == 'l' ? settle_probe(&outcome, token, &seen)
                                                : settle_counted(&outcome, epoch, &seen));
      forget(&seen);
    }
    if (call.state == GOES_ON && !done) {
      say(&call.why, "the record changed each time it was about to be written");
      call.state = FAILED;
    }
    if (call.state == FAILED) tell_store(ret, &call, outcome.provider, "the outcome was not counted");
  }
  err->answered = call.answered;
  exports_breaker_permit_free(permit);
  exports_breaker_ending_free(ending);
  exports_breaker_context_free(context);
  return call.state != SUSPENDED;
}

/* --- For operators ---------------------------------------------------------------------------- */

static void show(exports_breaker_domain_state_t *state, seen_t *seen, uint64_t now) {
  const record_t *record = &seen->record;
  standing_t standing = record_standing(record, now);
  if (seen->kind != ABSENT) {
    /* Only what was read is known to be text. The answer takes it over. */
    state->stored = (fusewire_option_string_t){true, {seen->bytes.val.ptr, seen->bytes.val.len}};
    seen->bytes = (fusewire_option_list_u8_t){0};
  }
  state->phase = standing == CLOSED ? PHASE(CLOSED) : standing == OPEN ? PHASE(OPEN) : PHASE(HALF_OPEN);
  state->epoch = record->epoch;
  state->until_ms = standing == OPEN ? record->until : 0;
  state->openings = (uint32_t)record->openings;
  state->probes_passed = (uint32_t)record->passed;
  state->failures = record->failures;
  if (standing != PROBING) return;
  state->lease.is_some = true;
  state->lease.val.expires_ms = record->lease_expires;
  say(&state->lease.val.token, "%s", record->token);
  say(&state->lease.val.owner, "%s", record->owner);
}

bool exports_breaker_inspect(target_t *target, context_t *context,
                             exports_breaker_list_domain_state_t *ret, suspended_t *err) {
  *ret = (exports_breaker_list_domain_state_t){NULL, 0};
  call_t call = {.context = context};
  if (target_problem(target) == NULL) {
    seen_t seen;
    call = begin(context, &target->provider);
    if (look(&call, &seen)) {
      const char *provider = (const char *)target->provider.ptr;
      int len = (int)target->provider.len;
      ret->ptr = need(3 * sizeof *ret->ptr);
      memset(ret->ptr, 0, 3 * sizeof *ret->ptr);
      show(&ret->ptr[ret->len], &seen, context->now_ms);
      say(&ret->ptr[ret->len++].domain, "%.*s", len, provider);
      /* These have no breaker of their own here: closed. */
      if (target->account.is_some)
        say(&ret->ptr[ret->len++].domain, "%.*s@%.*s", len, provider, (int)target->account.val.len,
            (char *)target->account.val.ptr);
      if (target->operation.is_some)
        say(&ret->ptr[ret->len++].domain, "%.*s/%.*s", len, provider, (int)target->operation.val.len,
            (char *)target->operation.val.ptr);
    }
    forget(&seen);
    fusewire_string_free(&call.why);
  }
  err->answered = call.answered;
  exports_breaker_target_free(target);
  exports_breaker_context_free(context);
  return call.state != SUSPENDED;
}

/* This policy takes no orders, and says so. */
bool exports_breaker_set_override(string_t *domain, exports_breaker_override_order_t *maybe_order,
                                  context_t *context, events_t *ret,
                                  exports_breaker_override_error_t *err) {
  (void)ret;
  err->tag = EXPORTS_BREAKER_OVERRIDE_ERROR_INVALID;
  say(&err->val.invalid, "this policy takes no orders");
  fusewire_string_free(domain);
  if (maybe_order != NULL) exports_breaker_override_order_free(maybe_order);
  exports_breaker_context_free(context);
  return false;
}
