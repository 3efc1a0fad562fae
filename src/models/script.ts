import { nearestNames, TroupeError } from '../errors.ts'
import { formatFieldPath } from '../schema/json-value.ts'
import * as z from '../schema/zod.ts'

const MAX_DELAY_MS = 2_147_483_647

const regexSource = z.string().superRefine((pattern, context) => {
  try {
    new RegExp(pattern)
  } catch (error) {
    context.addIssue({ code: 'custom', message: `not a regular expression: ${(error as Error).message}` })
  }
})

const when = z.strictObject({
  agent: z.string().min(1).optional(),
  turn: z.int().min(1).optional(),
  says: regexSource.optional(),
  /** Matched against every message before the last input. */
  heard: regexSource.optional(),
  tool: z.string().min(1).optional(),
})

const toolCall = z.strictObject({
  name: z.string().min(1),
  input: z.unknown().refine((input) => input !== undefined, 'is missing; use {} for no arguments'),
})

const failure = z.strictObject({ status: z.int().min(100).max(599), message: z.string().min(1) })

const reply = z
  .strictObject({
    text: z.string().optional(),
    toolCalls: z.array(toolCall).min(1).optional(),
    /** Sent as JSON text. */
    object: z.unknown().optional(),
    error: failure.optional(),
    delayMs: z.number().min(0).max(MAX_DELAY_MS).optional(),
    /** Interrupts the stream half-way through the text, without a finish. */
    cut: z.boolean().optional(),
    /** Stop reason, if not `end` or `tool_calls`. */
    stop: z.enum(['length', 'refusal', 'other']).optional(),
  })
  .superRefine((value, context) => {
    const problem = replyContradiction(value)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  })

const usage = z.strictObject({ input: z.int().min(0), output: z.int().min(0) })

const rule = z.strictObject({
  when: when.optional(),
  reply,
  /** `null`: no usage is reported. Absent: computed from the number of characters. */
  usage: usage.nullable().optional(),
  /** Maximum uses of this rule per session. */
  times: z.int().min(1).optional(),
})

const script = z.strictObject({
  rules: z.array(rule),
  otherwise: z.union([z.literal('error'), reply]).optional(),
})

export type ScriptReply = z.infer<typeof reply>
export type ScriptRule = z.infer<typeof rule>
export type Script = z.infer<typeof script>

/** Known keys of each object, by the last name in its path. */
const KNOWN_KEYS: Record<string, readonly string[]> = {
  '': Object.keys(script.shape),
  rules: Object.keys(rule.shape),
  when: Object.keys(when.shape),
  reply: Object.keys(reply.shape),
  otherwise: Object.keys(reply.shape),
  toolCalls: Object.keys(toolCall.shape),
  error: Object.keys(failure.shape),
  usage: Object.keys(usage.shape),
}

/** Parses a script; `source` names it in error messages. */
export function parseScript(text: string, source: string): Script {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw invalidScriptError(source, `not JSON: ${(error as Error).message}`, error)
  }
  return checkScript(value, source)
}

export function checkScript(value: unknown, source: string): Script {
  const checked = script.safeParse(value)
  if (checked.success) return checked.data
  const problems = checked.error.issues.flatMap((issue) => formatScriptIssues(issue, []))
  throw invalidScriptError(source, problems.slice(0, 5).join('; '))
}

export async function loadScript(path: string): Promise<Script> {
  const { readFile } = await import('node:fs/promises')
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new TroupeError('invalid_script', `cannot read the script ${path}: ${(error as Error).message}`, {
      hint: 'check the path; it is relative to the current folder',
      cause: error,
    })
  }
  return parseScript(text, path)
}

function invalidScriptError(source: string, problem: string, cause?: unknown): TroupeError {
  return new TroupeError('invalid_script', `script ${source}: ${problem}`, {
    hint: 'the file of `--model scripted:FILE` looks like {"rules":[{"when":{"turn":1},"reply":{"text":"Hello"}}],"otherwise":"error"}',
    cause,
  })
}

function replyContradiction(value: z.infer<z.ZodObject<typeof reply.shape>>): string | undefined {
  const { text, toolCalls, object, error, cut, stop } = value
  if (text === undefined && toolCalls === undefined && object === undefined && error === undefined) {
    return 'is empty; set one of text, toolCalls, object, error'
  }
  if (text !== undefined && object !== undefined) return 'has both text and object; set one'
  if (cut && error) return 'has both cut and error; set one'
  if (stop && (cut || error)) return 'has stop together with cut or error; set one'
  return undefined
}

function formatScriptIssues(issue: z.core.$ZodIssue, outer: readonly PropertyKey[]): string[] {
  const path = [...outer, ...issue.path]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${formatPath(path)}${formatUnknownKey(key, path)}`)
  if (issue.code !== 'invalid_union') return [`${formatPath(path)}${issue.message}`]
  const branch = issue.errors.find(
    (issues) => !issues.some(({ path, code }) => path.length === 0 && isTypeMismatch(code)),
  )
  if (!branch) return [`${formatPath(path)}must be "error" or a reply`]
  return branch.flatMap((inner) => formatScriptIssues(inner, path))
}

function isTypeMismatch(code: string): boolean {
  return code === 'invalid_type' || code === 'invalid_value'
}

function formatUnknownKey(key: string, path: readonly PropertyKey[]): string {
  const parent = path.findLast((part) => typeof part === 'string') ?? ''
  const known = KNOWN_KEYS[String(parent)] ?? []
  return `unknown key '${key}'; did you mean '${nearestNames(key, known)[0]}'? known: ${known.join(', ')}`
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.length === 0 ? '' : `${formatFieldPath(path)}: `
}
