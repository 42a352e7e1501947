#include "json.h"

#include <string.h>

typedef struct {
  const char *at, *end;
} scan_t;

static bool next_is(const scan_t *scan, char c) { return scan->at < scan->end && *scan->at == c; }

static bool take(scan_t *scan, char c) {
  if (!next_is(scan, c)) return false;
  scan->at++;
  return true;
}

static void skip_spaces(scan_t *scan) {
  while (next_is(scan, ' ') || next_is(scan, '\n') || next_is(scan, '\r') || next_is(scan, '\t'))
    scan->at++;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool skip_digits(scan_t *scan) {
  const char *from = scan->at;
  while (scan->at < scan->end && is_digit(*scan->at)) scan->at++;
  return scan->at > from;
}

static bool skip_number(scan_t *scan) {
  (void)take(scan, '-');
  if (!take(scan, '0') && !skip_digits(scan)) return false;
  if (take(scan, '.') && !skip_digits(scan)) return false;
  if (take(scan, 'e') || take(scan, 'E')) {
    (void)(take(scan, '+') || take(scan, '-'));
    return skip_digits(scan);
  }
  return true;
}

static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool skip_string(scan_t *scan) {
  if (!take(scan, '"')) return false;
  while (scan->at < scan->end) {
    unsigned char c = (unsigned char)*scan->at++;
    if (c == '"') return true;
    if (c < 0x20) return false;
    if (c != '\\') continue;
    if (scan->at == scan->end) return false;
    char escaped = *scan->at++;
    /* memchr, as strchr would find the zero at the end of the list too. */
    if (memchr("\"\\/bfnrtu", escaped, 9) == NULL) return false;
    for (int i = 0; escaped == 'u' && i < 4; i++)
      if (scan->at == scan->end || !is_hex(*scan->at++)) return false;
  }
  return false;
}

static bool skip_word(scan_t *scan, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0) return false;
  scan->at += len;
  return true;
}

static bool skip_value(scan_t *scan, unsigned depth);

/* The members of an object, or the elements of a list, up to the bracket that closes it. */
static bool skip_inside(scan_t *scan, char close, unsigned depth) {
  if (depth == 0) return false;
  skip_spaces(scan);
  if (take(scan, close)) return true;
  do {
    skip_spaces(scan);
    if (close == '}') {
      if (!skip_string(scan)) return false;
      skip_spaces(scan);
      if (!take(scan, ':')) return false;
      skip_spaces(scan);
    }
    if (!skip_value(scan, depth - 1)) return false;
    skip_spaces(scan);
  } while (take(scan, ','));
  return take(scan, close);
}

static bool skip_value(scan_t *scan, unsigned depth) {
  if (take(scan, '{')) return skip_inside(scan, '}', depth);
  if (take(scan, '[')) return skip_inside(scan, ']', depth);
  if (next_is(scan, '"')) return skip_string(scan);
  if (next_is(scan, 't')) return skip_word(scan, "true");
  if (next_is(scan, 'f')) return skip_word(scan, "false");
  if (next_is(scan, 'n')) return skip_word(scan, "null");
  return skip_number(scan);
}

/* RFC 3629. A text that is no UTF-8 and was handed to the host as a string would be a trap. */
static bool is_utf8(const uint8_t *text, size_t len) {
  for (size_t i = 0; i < len;) {
    uint8_t first = text[i++];
    if (first < 0x80) continue;
    size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || len - i < more) return false;
    uint8_t second = text[i];
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return false;
    for (; more > 0; more--)
      if ((text[i++] & 0xc0) != 0x80) return false;
  }
  return true;
}

bool json_read(const uint8_t *text, size_t len, json_t *value) {
  if (len == 0 || !is_utf8(text, len)) return false;
  const char *begin = (const char *)text;
  scan_t scan = {begin, begin + len};
  skip_spaces(&scan);
  const char *from = scan.at;
  if (!skip_value(&scan, JSON_DEPTH)) return false;
  *value = (json_t){from, (size_t)(scan.at - from)};
  skip_spaces(&scan);
  return scan.at == scan.end;
}

bool json_is_object(json_t value) { return value.len > 0 && value.at[0] == '{'; }

bool json_member(json_t object, size_t *place, json_t *key, json_t *value) {
  if (!json_is_object(object)) return false;
  /* At first behind the brace, later on at the comma behind the last member. */
  scan_t scan = {object.at + (*place == 0 ? 1 : *place), object.at + object.len};
  (void)take(&scan, ',');
  skip_spaces(&scan);
  key->at = scan.at;
  if (!skip_string(&scan)) return false;
  key->len = (size_t)(scan.at - key->at);
  skip_spaces(&scan);
  (void)take(&scan, ':');
  skip_spaces(&scan);
  value->at = scan.at;
  if (!skip_value(&scan, JSON_DEPTH)) return false;
  value->len = (size_t)(scan.at - value->at);
  skip_spaces(&scan);
  *place = (size_t)(scan.at - object.at);
  return true;
}

json_t json_get(json_t object, const char *name) {
  json_t key, value, found = {NULL, 0};
  for (size_t place = 0; json_member(object, &place, &key, &value);)
    if (json_is(key, name)) found = value;
  return found;
}

bool json_is(json_t value, const char *text) {
  size_t len = strlen(text);
  return value.len == len + 2 && value.at[0] == '"' && memcmp(value.at + 1, text, len) == 0;
}

bool json_whole(json_t value, uint64_t *number) {
  uint64_t sum = 0;
  for (size_t i = 0; i < value.len; i++) {
    if (!is_digit(value.at[i])) return false;
    uint64_t digit = (uint64_t)(value.at[i] - '0');
    if (sum > (UINT64_MAX - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *number = sum;
  return value.len > 0;
}

bool json_text(json_t value, char *to, size_t size) {
  size_t len = 0;
  if (value.len < 2 || value.at[0] != '"') return false;
  for (size_t i = 1; i < value.len - 1; i++) {
    char c = value.at[i];
    if (c == '\\') {
      c = value.at[++i];
      if (c != '"' && c != '\\' && c != '/') return false;
    }
    if (len + 1 >= size) return false;
    to[len++] = c;
  }
  to[len] = 0;
  return true;
}
