import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Limits, Troupe } from '../../index.ts'
import { checkLimits } from '../../runtime/parse-run-metadata.ts'
import { definedFields } from '../../schema/json-value.ts'
import type { Principal } from './auth/principal.ts'
import { SCOPES } from './auth/principal.ts'
import { refuse } from './checks/refusal.ts'
import type { LimitOptions } from './checks/request-limits.ts'
import { createRequestLimits } from './checks/request-limits.ts'
import type { Scope } from './contract.ts'
import { createHttpApp } from './http-app.ts'
import { createPageReader } from './page/page-files.ts'
import { apiRoutes } from './routes/api-routes.ts'

/** The sender of a request. */
export interface HandlerCaller {
  /** Answers and commands are recorded with it. */
  name: string
  /** `read`; `run`: start, cancel, resume, fork, steer; `approve`: answer questions. */
  scopes: readonly Scope[]
  /** The project whose runs, questions and artifacts the caller sees. Default: that of the troupe. */
  project?: string
}

export interface HandlerOptions {
  /** Finds out who sends a request: a caller, `null` for 401, or a response such as a redirect to a login. */
  authenticate(request: Request): Promise<HandlerCaller | Response | null> | HandlerCaller | Response | null
  /** The path under which the handler is reached, such as `/agents`; also if the framework removes it from the request. */
  basePath?: string
  /** Serves the viewer, too. */
  page?: boolean
  /** Origins of other sites whose pages may call, such as `https://app.example.com`. Default: none. */
  origins?: readonly string[]
  /** The limits of runs that are started here. */
  limits?: Partial<Limits>
  /** The requests that one caller may send: `rate` per second, `burst`, `concurrency`, open `streams`. */
  requests?: Partial<LimitOptions>
  /** Gets the work that goes on after a response, for platforms that freeze a process without requests. */
  waitUntil?(work: Promise<unknown>): void
  /** Gets errors that callers do not see. Default: written to the standard error stream. */
  onError?(error: Error): void
}

export type Handler = (request: Request) => Promise<Response>

const OPTIONS = {
  authenticate: true,
  basePath: true,
  page: true,
  origins: true,
  limits: true,
  requests: true,
  waitUntil: true,
  onError: true,
} satisfies Record<keyof HandlerOptions, true>

/** The HTTP API of a troupe, its streams and its page, for a server of your own. */
export function createHandler(troupe: Troupe, options: HandlerOptions): Handler {
  checkOptions(options)
  const { basePath = '', page = false, origins = [], waitUntil } = options
  const limits = definedFields(options.limits ?? {})
  checkLimits(limits)
  const onError = errorReporter(options)
  const app = createHttpApp({
    ...{ troupe, basePath, origins, onError },
    executes: true,
    runLimits: limits,
    limits: createRequestLimits(options.requests),
    signal: troupe.closing,
    readPageFile: page ? createPageReader() : undefined,
    ...(waitUntil ? { waitUntil } : undefined),
    authenticate: async ({ req }) => callerFrom(options, req.raw, onError),
  })
  return async (request: Request, bindings?: unknown) => app.fetch(request, isNode(bindings) ? bindings : {})
}

/** An error of `onError` itself, thrown or rejected, must not change the response or end the process. */
function errorReporter({ onError = (error) => console.error(error) }: HandlerOptions): (error: Error) => void {
  return (error) => {
    const report = async () => onError(error)
    report().catch((thrown: unknown) => console.error(error, thrown))
  }
}

/** 500 without detail if the function of the operator throws, or returns something else than a caller. */
async function callerFrom(
  options: HandlerOptions,
  request: Request,
  onError: (error: Error) => void,
): Promise<Principal | Response | null> {
  try {
    const caller = await options.authenticate(request)
    if (caller === null) return null
    if (isResponse(caller)) return ownResponse(caller)
    const { name, scopes, project } = caller
    const isValid =
      isName(name) && (project === undefined || isName(project)) && scopes.every((scope) => SCOPES.includes(scope))
    if (!isValid)
      throw invalidOption('`authenticate` returned no caller', 'return { name, scopes }, null or a response')
    return { name, scopes: [...scopes], ...(project === undefined ? undefined : { project }) }
  } catch (thrown) {
    onError(thrown instanceof Error ? thrown : new Error(String(thrown)))
    throw refuse(500, { code: 'internal', message: 'the server could not do this' })
  }
}

/** By its shape: frameworks and polyfills have classes of their own. */
function isResponse(value: HandlerCaller | Response): value is Response {
  return typeof value === 'object' && 'headers' in value && 'clone' in value && typeof value.clone === 'function'
}

/** A copy: the program may return one response again and again, and the headers of a redirect cannot be changed. */
function ownResponse(response: Response): Response {
  const { body, status, statusText, headers } = response.clone()
  return new Response(body, { status, statusText, headers: [...headers] })
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** Other servers pass other things beside the request. */
function isNode(bindings: unknown): bindings is object {
  return typeof bindings === 'object' && bindings !== null && 'outgoing' in bindings
}

function checkOptions(options: HandlerOptions | undefined): void {
  const unknown = Object.keys(options ?? {}).find((name) => !Object.hasOwn(OPTIONS, name))
  if (unknown !== undefined)
    throw unknownNameError('invalid_input', {
      kind: 'option of createHandler',
      name: unknown,
      known: Object.keys(OPTIONS),
    })
  if (typeof options?.authenticate !== 'function')
    throw invalidOption(
      '`authenticate` is missing: everybody could start runs',
      "pass a function that tells who sends a request: (request) => ({ name, scopes: ['read', 'run'] }), or null",
    )
  checkBasePath(options.basePath ?? '')
  for (const origin of options.origins ?? [])
    if (URL.parse(origin)?.origin !== origin || origin === 'null')
      throw invalidOption(`\`origins\`: '${origin}' is not an origin`, 'write it as https://app.example.com')
}

/** Addresses of the page, beside those of the API. */
const PLACES = ['/runs', '/inbox', '/metrics']

/** A path that is an address below itself, too, would be ambiguous where the framework has removed it. */
function checkBasePath(basePath: string): void {
  if (basePath === '') return
  if (!/^(\/[\w.~-]+)+$/.test(basePath))
    throw invalidOption(`\`basePath\`: '${basePath}' is not a path`, 'write it as /agents, without a slash at the end')
  const taken = [...apiRoutes.map(({ path }) => path), ...PLACES].find((path) => `${path}/`.startsWith(`${basePath}/`))
  if (taken !== undefined)
    throw invalidOption(
      `\`basePath\`: ${basePath} is an address of the API or the page itself`,
      'choose another, such as /agents',
    )
}

function invalidOption(message: string, hint: string): TroupeError {
  return new TroupeError('invalid_input', message, { hint, responsible: 'developer' })
}
