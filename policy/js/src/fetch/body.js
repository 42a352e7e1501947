/**
 * @file The body of an answer, passed on while it comes, and the attempt judged by its end.
 *
 * A provider that breaks off in the midst of a body is not well, so what the end shows is told. The
 * beginning of the body is fetched ahead, so that a short answer comes to its end whether or not
 * somebody reads it.
 *
 * @import { Attempt } from './attempt.js'
 * @import { Limit } from './limit.js'
 * @import { Source } from './source.js'
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
 * @param {Response} response
 * @param {Source} source Its body.
 * @param {Attempt} attempt
 * @param {Limit} limit
 * @param {(error: unknown) => void} failed Tells the attempt what broke the body off.
 * @returns {Response}
 */
export function judgedByItsEnd(response, source, attempt, limit, failed) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let unread;
  const body = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        clearTimeout(unread);
        try {
          const part = await attempt.waitFor(limit.during(() => source.next()));
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
        return source.cancel(reason);
      },
    },
    { highWaterMark: AHEAD_BYTES },
  );
  return withBody(response, body);
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
