/**
 * @file Where the first event of a `text/event-stream` is over, by the grammar of the HTML standard
 * (section 9.2.6): a block of lines with data, and an empty line. Comments, which keep a connection
 * alive, and fields without data are no event.
 */

const LF = 0x0a;
const CR = 0x0d;
/** A line with data, after the byte order mark that a stream may begin with. */
const DATA = /^(\xef\xbb\xbf)?data(:|$)/;
/** As much of a line as that takes. */
const LINE_BYTES = 8;

export class FirstEvent {
  #line = '';
  #hasData = false;
  #afterCr = false;

  /**
   * @param {Uint8Array} part The next part of the stream.
   * @returns {boolean} Whether the first event ends in it.
   */
  isIn(part) {
    for (const byte of part) {
      const isSecondHalf = byte === LF && this.#afterCr;
      this.#afterCr = byte === CR;
      if (isSecondHalf) {
        continue;
      }
      if (byte !== CR && byte !== LF) {
        if (this.#line.length < LINE_BYTES) {
          this.#line += String.fromCharCode(byte);
        }
        continue;
      }
      if (this.#line === '' && this.#hasData) {
        return true;
      }
      this.#hasData = this.#line !== '' && (this.#hasData || DATA.test(this.#line));
      this.#line = '';
    }
    return false;
  }
}
