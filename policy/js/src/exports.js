/**
 * @file The exports of a policy that may touch the store, and what stands in where an older one does
 * not have them: `attempts` and `operator` came with version 0.1.2 of the contract.
 */

/**
 * An export that may touch the store.
 *
 * @typedef {'admit' | 'overdue' | 'settle' | 'inspect' | 'setOverride' | 'setOrder' | 'explain'
 *   | 'next'} Export
 */

/**
 * How each is asked.
 *
 * @type {Record<Export, (root: any, ...args: any[]) => any>}
 */
export const EXPORTS = {
  admit: ({ attempts, breaker }, ...args) => (attempts ?? breaker).admit(...args),
  overdue: ({ attempts }, ...args) => (attempts ? attempts.overdue(...args) : []),
  settle: ({ attempts, breaker }, permit, ending, timing, context) =>
    attempts
      ? attempts.settle(permit, ending, timing, context)
      : breaker.settle(permit, ending, context),
  inspect: ({ breaker }, ...args) => breaker.inspect(...args),
  setOverride: ({ breaker }, ...args) => breaker.setOverride(...args),
  setOrder: ({ operator, breaker }, domain, order, context) => {
    const enforcePercent = order?.enforcePercent ?? 0;
    if (operator) {
      return operator.setOrder(domain, order && { ...order, enforcePercent }, context);
    }
    if (enforcePercent > 0) {
      throw invalid('this policy is older than orders with a share of enforcement');
    }
    return breaker.setOverride(domain, order, context);
  },
  explain: ({ operator }, ...args) => {
    if (!operator) {
      throw invalid('this policy is older than explanations; `inspect` tells how a domain stands');
    }
    return operator.explain(...args);
  },
  next: ({ planner }, ...args) => planner.next(...args),
};

/**
 * The `err` of an export's result, as jco throws it.
 *
 * @param {string} why
 */
function invalid(why) {
  return { tag: 'invalid', val: why };
}
