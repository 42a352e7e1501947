/* The interfaces `classifier` and `planner`: what an outcome means, and what comes next. Neither
 * touches the store. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "record.h"

/* An answer that takes this long is slow, in ms. */
#define SLOW_MS 10000
/* The longest wait before the same provider is asked again within one call, in ms. */
#define INLINE_MS 30000
/* The least wait after a throttled call, in ms. */
#define THROTTLE_MS 1000
/* The least wait after a rejected credential, in ms: somebody has to change something. */
#define AUTH_MS 300000
/* How often one provider is asked in one call, the first time included. */
#define ATTEMPTS 3
/* The longest wait before the second attempt; it doubles from there, to the maximum. In ms. */
#define BACK_OFF_MS 200
#define BACK_OFF_MAX_MS 2000

/* Whether the same request may be sent again: if it does no harm, or in any case. */
typedef enum { NEVER, IF_IDEMPOTENT, ALWAYS } again_t;

typedef struct {
  uint8_t outcome, effect, blame;
  again_t again;
  bool elsewhere;  /* another provider may do better */
  uint64_t floor_ms;
  const char *reason;
} finding_t;

/* Findings that come up again and again: the outcome, the effect and the blame. */
#define GOOD OUTCOME(SUCCESS), EFFECT(SUCCESS), BLAME(NOBODY)
#define TRANSIENT OUTCOME(TRANSIENT), EFFECT(FAILURE), BLAME(PROVIDER)
#define DOWN OUTCOME(PROVIDER_DOWN), EFFECT(FAILURE), BLAME(PROVIDER)
#define NEAR_BY OUTCOME(TRANSIENT), EFFECT(NEUTRAL), BLAME(NOBODY)
#define CALLER OUTCOME(CALLER_ERROR), EFFECT(NEUTRAL), BLAME(CALLER)
#define GONE OUTCOME(CANCELLED), EFFECT(NEUTRAL), BLAME(NOBODY)

/* Failures below HTTP, in the order of the contract's enum, whose numbers index it. */
static const struct {
  const char *name;
  finding_t finding;
} FAILURES[] = {
    {"dns-not-found", {DOWN, NEVER, true, 0, "the resolver knows no such name"}},
    {"dns-temporary", {TRANSIENT, ALWAYS, true, 0, "the resolver did not answer"}},
    {"connect-refused", {DOWN, ALWAYS, true, 0, "the connection was refused"}},
    {"connect-timeout", {DOWN, ALWAYS, true, 0, "no connection within the connect limit"}},
    {"network-unreachable", {NEAR_BY, ALWAYS, true, 0, "there is no route to the network"}},
    {"tls-handshake", {TRANSIENT, NEVER, true, 0, "the TLS handshake failed"}},
    {"tls-certificate", {DOWN, NEVER, true, 0, "the certificate is not valid"}},
    {"reset", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the connection was reset"}},
    {"reset-mid-body", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the connection ended while the answer was coming"}},
    {"stale-connection", {NEAR_BY, ALWAYS, false, 0, "a kept connection was already closed"}},
    {"refused-stream", {TRANSIENT, ALWAYS, true, 0, "the provider refused the stream unprocessed"}},
    {"goaway", {NEAR_BY, ALWAYS, false, 0, "the server is going away in good order"}},
    {"read-timeout", {TRANSIENT, IF_IDEMPOTENT, true, 0, "nothing came within the read limit"}},
    {"total-timeout", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the attempt took longer than its total limit"}},
    {"incomplete-body", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the answer ended before its stated length"}},
    {"content-decoding", {TRANSIENT, NEVER, true, 0, "the answer cannot be decoded"}},
    {"protocol", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the answer is not HTTP"}},
    {"too-many-redirects", {DOWN, NEVER, true, 0, "the provider redirects in a circle"}},
    {"invalid-request", {CALLER, NEVER, false, 0, "the request cannot be built"}},
    {"caller-deadline", {TRANSIENT, NEVER, false, 0, "no answer within the caller's deadline"}},
    {"deadline-before-send", {GONE, NEVER, false, 0, "the caller's deadline was over before it was sent"}},
    {"breaker-open", {NEAR_BY, NEVER, true, 0, "a breaker refused the call"}},
    {"local-resources", {NEAR_BY, ALWAYS, true, 0, "no connection, port or file was to be had here"}},
    {"cancelled", {GONE, NEVER, false, 0, "the caller went away"}},
    {"shutdown", {GONE, NEVER, false, 0, "this process is stopping"}},
    {"other", {TRANSIENT, IF_IDEMPOTENT, true, 0, "the call failed below HTTP"}},
};
_Static_assert(sizeof FAILURES / sizeof FAILURES[0] ==
                   EXPORTS_CLASSIFIER_TRANSPORT_FAILURE_OTHER + 1,
               "one line for each failure of the contract");

static finding_t of_status(uint16_t status, uint64_t hint_ms) {
  if (status >= 200 && status < 400) return (finding_t){GOOD, NEVER, false, 0, "the provider answered"};
  if (status == 401 || status == 402 || status == 403)
    return (finding_t){OUTCOME(QUOTA_OR_AUTH), EFFECT(NEUTRAL), BLAME(ACCOUNT), NEVER, true, AUTH_MS,
                       "the provider rejects the credential"};
  if (status == 429)
    return (finding_t){OUTCOME(THROTTLED), EFFECT(NEUTRAL), BLAME(ACCOUNT), ALWAYS, true, THROTTLE_MS,
                       "this client asks too fast"};
  if (status == 408)
    return (finding_t){TRANSIENT, IF_IDEMPOTENT, true, 0, "the provider stopped waiting for the request"};
  if (status >= 400 && status < 500)
    return (finding_t){CALLER, NEVER, false, 0, "the provider rejects the request"};
  if (status == 503 && hint_ms > INLINE_MS)
    return (finding_t){DOWN, NEVER, true, 0, "the provider is out of service, and says for how long"};
  return (finding_t){TRANSIENT, IF_IDEMPOTENT, true, 0, "the provider failed"};
}

/* Retry-After in whole seconds, as ms; a date is not read here. Clamped. */
static fusewire_option_u64_t retry_after(const exports_classifier_response_t *response) {
  static const char NAME[] = "retry-after";
  for (size_t i = 0; i < response->headers.len; i++) {
    const exports_classifier_field_t *field = &response->headers.ptr[i];
    uint64_t seconds;
    if (field->name.len == sizeof NAME - 1 &&
        strncasecmp((const char *)field->name.ptr, NAME, sizeof NAME - 1) == 0 &&
        json_whole((json_t){(const char *)field->value.ptr, field->value.len}, &seconds))
      return (fusewire_option_u64_t){true, least(seconds, HINT_MAX_MS / 1000) * 1000};
  }
  return (fusewire_option_u64_t){false, 0};
}

/* wit-bindgen 0.63 forgets the body when it frees a response. Left empty, so that a version which
 * does not forget it finds nothing to free twice. */
static void free_body(exports_classifier_observation_t *seen) {
  if (!seen->response.is_some) return;
  fusewire_option_list_u8_free(&seen->response.val.body);
  seen->response.val.body = (fusewire_option_list_u8_t){0};
}

void exports_classifier_classify(target_t *target, exports_classifier_observation_t *seen, verdict_t *ret) {
  finding_t finding = {GONE, NEVER, false, 0, "nothing was observed"};
  fusewire_option_u64_t hint = {false, 0};
  *ret = (verdict_t){0};
  if (seen->response.is_some) hint = retry_after(&seen->response.val);
  if (seen->failure.is_some) {
    finding = FAILURES[seen->failure.val].finding;
    say(&ret->rule, "transport/%s", FAILURES[seen->failure.val].name);
    /* The provider is to blame only where it had the time that it needs at least. */
    if (seen->failure.val == EXPORTS_CLASSIFIER_TRANSPORT_FAILURE_CALLER_DEADLINE &&
        seen->minimum_budget_ms.is_some && seen->latency_ms < seen->minimum_budget_ms.val)
      finding = (finding_t){GONE, NEVER, false, 0, "the caller's deadline left too little time"};
  } else if (seen->response.is_some) {
    finding = of_status(seen->response.val.status, hint.val);
    say(&ret->rule, "status/%u", (unsigned)seen->response.val.status);
  } else {
    say(&ret->rule, "nothing");
  }
  bool good = finding.effect == EFFECT(SUCCESS) || finding.outcome == OUTCOME(CANCELLED);
  ret->slow = seen->latency_ms >= SLOW_MS;
  ret->outcome = finding.outcome;
  ret->effect = finding.effect == EFFECT(SUCCESS) && ret->slow ? EFFECT(SLOW_SUCCESS) : finding.effect;
  ret->blame = finding.blame;
  if (!good) ret->retry_after_ms = hint;
  ret->min_delay_ms = good || finding.outcome == OUTCOME(CALLER_ERROR) ? 0 : most(finding.floor_ms, hint.val);
  ret->retry_same = (finding.again == ALWAYS || (finding.again == IF_IDEMPOTENT && seen->idempotent)) &&
                    !seen->delivered_partial && ret->min_delay_ms <= INLINE_MS;
  ret->next_provider = finding.elsewhere && !seen->delivered_partial;
  say(&ret->reason, "%s", finding.reason);
  exports_classifier_target_free(target);
  free_body(seen);
  exports_classifier_observation_free(seen);
}

bool exports_planner_next(exports_planner_progress_t *progress, verdict_t *verdict, context_t *context,
                          exports_planner_step_t *ret, exports_planner_suspended_t *err) {
  (void)err;
  *ret = (exports_planner_step_t){.tag = EXPORTS_PLANNER_STEP_DONE};
  bool others = verdict->next_provider && progress->providers_left > 0;
  bool again = verdict->retry_same && !progress->probe && progress->attempts < ATTEMPTS;
  uint64_t delay = BACK_OFF_MS;
  for (uint32_t i = 1; i < progress->attempts && delay < BACK_OFF_MAX_MS; i++) delay *= 2;
  /* Drawn evenly, so that hosts which failed together do not come back together. */
  delay = most(part_of(least(delay, BACK_OFF_MAX_MS), context->entropy), verdict->min_delay_ms);
  bool in_time = !progress->deadline_ms.is_some || plus(context->now_ms, delay) < progress->deadline_ms.val;
  if (verdict->effect == EFFECT(SUCCESS) || verdict->effect == EFFECT(SLOW_SUCCESS)) {
    ret->tag = EXPORTS_PLANNER_STEP_DONE;
  } else if (again && in_time && !(others && verdict->min_delay_ms > 0)) {
    ret->tag = EXPORTS_PLANNER_STEP_RETRY;
    ret->val.retry = delay;
  } else if (others) {
    ret->tag = EXPORTS_PLANNER_STEP_NEXT_PROVIDER;
  } else if (verdict->outcome != OUTCOME(CALLER_ERROR)) {
    ret->tag = EXPORTS_PLANNER_STEP_GIVE_UP;
    ret->val.give_up = verdict->reason;
    verdict->reason = (string_t){NULL, 0};
  }
  exports_planner_progress_free(progress);
  exports_classifier_verdict_free(verdict);
  exports_breaker_context_free(context);
  return true;
}
