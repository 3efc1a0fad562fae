export type { Handler, HandlerCaller, HandlerOptions } from './create-handler.ts'
export { createHandler } from './create-handler.ts'
export { toNodeListener } from './node-listener.ts'
