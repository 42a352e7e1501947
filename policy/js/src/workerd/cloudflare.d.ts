// What is used of the runtime's own module. Who has `@cloudflare/workers-types` has it all.
declare module 'cloudflare:workers' {
  export class DurableObject {
    constructor(context: unknown, env: unknown);
  }
  export const env: any;
}
