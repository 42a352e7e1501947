/* The interface `lifecycle`: who the policy is, and its settings.
 *
 * The settings have the names, limits and defaults of Fusewire's own policy where they mean the
 * same, so that a configuration need not be learned anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "policy.h"

#define SECOND 1000ull
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

/* More are not told: whoever wrote so many has other worries, and the answer stays small. */
#define PROBLEMS_MAX 50

#define DEFAULTS                                                                          \
  {.prefix = "fusewire", .failures = 5, .first_ms = 30 * SECOND, .max_ms = 600 * SECOND, \
   .jitter = 100, .probes = 3, .lease_ms = 10 * SECOND}

/* An instance that was never configured behaves as if configured with `{}`. */
settings_t settings = DEFAULTS;

typedef enum { PREFIX, WHOLE, SPAN, SHARE } kind_t;

typedef struct {
  const char *path;  /* a JSON Pointer */
  kind_t kind;
  size_t field;  /* where in settings_t */
  uint64_t least, most;
  const char *right;
} setting_t;

#define FIELD(name) offsetof(settings_t, name)
static const setting_t SETTINGS[] = {
    {"/prefix", PREFIX, FIELD(prefix), 0, 0,
     "write 1 to 64 bytes, with no control character and none of {}*?[]\\\""},
    {"/breaker/failures/count", WHOLE, FIELD(failures), 1, 1000000,
     "write a whole number from 1 to 1000000"},
    {"/breaker/cool-down/first", SPAN, FIELD(first_ms), 10, DAY,
     "write a duration such as \"30s\" from 10ms to 1d"},
    {"/breaker/cool-down/max", SPAN, FIELD(max_ms), 10, DAY,
     "write a duration such as \"10m\" from 10ms to 1d"},
    {"/breaker/cool-down/jitter", SHARE, FIELD(jitter), 0, 1000, "write a number from 0 to 1"},
    {"/breaker/probes/needed", WHOLE, FIELD(probes), 1, 100, "write a whole number from 1 to 100"},
    {"/breaker/probes/lease", SPAN, FIELD(lease_ms), 100, HOUR,
     "write a duration such as \"10s\" from 100ms to 1h"},
};
#define SETTINGS_COUNT (sizeof SETTINGS / sizeof SETTINGS[0])
/* The longest pointer of a setting or of an object around settings, with its zero. */
#define PATH_SIZE 32

typedef exports_lifecycle_list_problem_t problems_t;

static void problem(problems_t *problems, const char *path, const char *wrong, const char *right) {
  if (problems->len == PROBLEMS_MAX) return;
  exports_lifecycle_problem_t *next = &problems->ptr[problems->len++];
  say(&next->path, "%s", path);
  say(&next->wrong, "%s", wrong);
  say(&next->right, "%s", right);
}

/* "1m30s" in ms. */
static bool read_span(const char *text, uint64_t *span) {
  static const struct {
    const char *name;
    uint64_t ms;
  } UNITS[] = {{"ms", 1}, {"d", DAY}, {"h", HOUR}, {"m", 60 * SECOND}, {"s", SECOND}};
  *span = 0;
  if (*text == 0) return false;
  while (*text != 0) {
    size_t digits = strspn(text, "0123456789");
    uint64_t number;
    if (!json_whole((json_t){text, digits}, &number)) return false;
    text += digits;
    uint64_t unit = 0;
    for (size_t i = 0; unit == 0 && i < sizeof UNITS / sizeof UNITS[0]; i++) {
      size_t len = strlen(UNITS[i].name);
      if (strncmp(text, UNITS[i].name, len) != 0) continue;
      unit = UNITS[i].ms;
      text += len;
    }
    if (unit == 0 || number > DAY) return false;
    *span = plus(*span, number * unit);
  }
  return true;
}

/* A decimal of at most 1, in thousandths; what is finer is left out. */
static bool read_share(json_t value, uint64_t *share) {
  const char *dot = value.len == 0 ? NULL : memchr(value.at, '.', value.len);
  size_t whole_len = dot == NULL ? value.len : (size_t)(dot - value.at);
  uint64_t whole, thousandths = 0;
  if (!json_whole((json_t){value.at, whole_len}, &whole) || whole > 1) return false;
  uint64_t weight = 100;
  for (size_t i = whole_len + 1; i < value.len; i++, weight /= 10) {
    if (value.at[i] < '0' || value.at[i] > '9') return false;
    thousandths += weight * (uint64_t)(value.at[i] - '0');
  }
  *share = whole * 1000 + thousandths;
  return true;
}

static bool is_prefix(const char *text) {
  if (*text == 0 || strpbrk(text, "{}*?[]\\\"") != NULL) return false;
  for (; *text != 0; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f) return false;
  return true;
}

static bool read_setting(const setting_t *setting, json_t value, settings_t *into) {
  char *field = (char *)into + setting->field;
  char text[PREFIX_MAX_BYTES + 1];
  if (setting->kind == PREFIX) {
    if (!json_text(value, text, sizeof text) || !is_prefix(text)) return false;
    memcpy(field, text, sizeof text);
    return true;
  }
  uint64_t number = 0;
  bool read = setting->kind == WHOLE   ? json_whole(value, &number)
              : setting->kind == SHARE ? read_share(value, &number)
                                       : json_text(value, text, sizeof text) && read_span(text, &number);
  if (!read || number < setting->least || number > setting->most) return false;
  memcpy(field, &number, sizeof number);
  return true;
}

/* Reads an object of settings, whose pointer is `path`. It goes as deep as the names of settings
 * do, whatever it is given. */
static void read_settings(json_t object, const char *path, settings_t *into, problems_t *problems) {
  json_t key, value;
  for (size_t place = 0; json_member(object, &place, &key, &value);) {
    char name[PATH_SIZE], inner[PATH_SIZE];
    bool fits = json_text(key, name, sizeof name) && strpbrk(name, "/~") == NULL;
    int len = fits ? snprintf(inner, sizeof inner, "%s/%s", path, name) : PATH_SIZE;
    const setting_t *exact = NULL;
    bool around = false;
    for (size_t i = 0; len < PATH_SIZE && i < SETTINGS_COUNT; i++) {
      const char *known = SETTINGS[i].path;
      if (strncmp(known, inner, (size_t)len) != 0) continue;
      if (known[len] == 0) exact = &SETTINGS[i];
      if (known[len] == '/') around = true;
    }
    if (exact != NULL) {
      if (!read_setting(exact, value, into))
        problem(problems, inner, "the value is not one that this setting can have", exact->right);
    } else if (around && json_is_object(value)) {
      read_settings(value, inner, into, problems);
    } else if (around) {
      problem(problems, inner, "this is no object", "write an object, or leave it out");
    } else {
      problem(problems, len < PATH_SIZE ? inner : path,
              len < PATH_SIZE ? "this is not a setting" : "something in here is not a setting",
              "known are prefix, breaker.failures.count, breaker.cool-down.first, .max and .jitter, "
              "breaker.probes.needed and .lease");
    }
  }
}

void exports_lifecycle_describe(exports_lifecycle_description_t *ret) {
  say(&ret->name, "consecutive-failures");
  say(&ret->version, "0.1.0");
  ret->record_schema = 1;
}

void exports_lifecycle_configure(string_t *json, problems_t *ret) {
  settings_t next = DEFAULTS;
  json_t root;
  *ret = (problems_t){need(PROBLEMS_MAX * sizeof *ret->ptr), 0};
  if (!json_read(json->ptr, json->len, &root) || !json_is_object(root)) {
    problem(ret, "", "the configuration is not a JSON object", "write an object such as {}");
  } else {
    read_settings(root, "", &next, ret);
    if (ret->len == 0 && next.max_ms < next.first_ms)
      problem(ret, "/breaker/cool-down/max", "the longest cool-down is shorter than the first",
              "raise `max` or lower `first`");
  }
  if (ret->len == 0) {
    settings = next;
    free(ret->ptr);
    ret->ptr = NULL;
  }
  fusewire_string_free(json);
}
