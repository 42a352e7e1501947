/* A reader of JSON that allocates nothing: a value is a piece of the text it stands in.
 *
 * Whoever can write to the store can write a record, so the reader takes any bytes, goes no deeper
 * than JSON_DEPTH, and never reads past the end. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How deep objects and lists may lie in one another: what is read here has three levels. */
#define JSON_DEPTH 16

/* One value, from its first byte to its last. No bytes: there is none. */
typedef struct {
  const char *at;
  size_t len;
} json_t;

/* Reads a whole text. False: it is not UTF-8, not JSON, or too deep. */
bool json_read(const uint8_t *text, size_t len, json_t *value);

/* The next member of an object that json_read accepted. `place` is where to go on, at first 0.
 * False: there is no further one, or this is no object. */
bool json_member(json_t object, size_t *place, json_t *key, json_t *value);

/* The member of this name; of several the last. */
json_t json_get(json_t object, const char *name);

/* Whether a value is this string, written without escapes. */
bool json_is(json_t value, const char *text);

bool json_is_object(json_t value);

/* A number that is whole and not negative, written in digits alone. */
bool json_whole(json_t value, uint64_t *number);

/* A string's text with a zero behind it. False: it is no string, has more than `size` - 1 bytes,
 * or an escape other than those of `"`, `\` and `/`. */
bool json_text(json_t value, char *to, size_t size);

#endif
