/**
 * @file The body of an answer, passed on while it comes, and the attempt judged by its end.
 *
 * A provider that breaks off in the midst of a body is not well, so what the end shows is told. The
 * beginning of the body is fetched ahead, so that a short answer comes to its end whether or not
 * somebody reads it.
 *
 * @import { Attempt } from './attempt.js'
 * @import { Limit } from './limit.js'
 */

/** How much of a body is fetched ahead of its reader, in bytes. */
const AHEAD_BYTES = 64 * 1024;
/**
 * How long a reader may pause before the attempt is judged by what has come, in ms. Many who look
 * at the status alone leave the body where it is, and nothing says so.
 */
const UNREAD_MS = 30_000;

/**
 * The answer with a body that tells the attempt how it ended.
 *
 * @param {Response} response Has a body.
 * @param {Attempt} attempt
 * @param {Limit} limit
 * @param {(error: unknown) => void} failed Tells the attempt what broke the body off.
 * @returns {Response}
 */
export function judgedByItsEnd(response, attempt, limit, failed) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let unread;
  const body = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        clearTimeout(unread);
        try {
          const part = await attempt.waitFor(limit.during(() => next(reader)));
          if (part) {
            attempt.delivered();
            controller.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (part));
            unread = setTimeout(() => attempt.judge(), UNREAD_MS);
            /** @type {any} */ (unread).unref?.();
            return;
          }
          attempt.judge();
          controller.close();
          controller.byobRequest?.respond(0);
        } catch (error) {
          failed(error);
          controller.error(error);
        }
      },
      cancel(reason) {
        clearTimeout(unread);
        attempt.drop();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: AHEAD_BYTES },
  );
  return withBody(response, body);
}

/**
 * The next part of a body that has anything in it. Nothing: it has ended.
 *
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @returns {Promise<Uint8Array | undefined>}
 */
async function next(reader) {
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value.length > 0) {
      return value;
    }
  }
}

/**
 * @param {Response} response
 * @param {ReadableStream} body
 * @returns {Response}
 */
function withBody(response, body) {
  const copy = new Response(body, response);
  for (const name of /** @type {const} */ (['url', 'redirected', 'type'])) {
    Object.defineProperty(copy, name, { value: response[name], configurable: true });
  }
  return copy;
}
