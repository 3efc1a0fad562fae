import { z } from 'zod'
import { shortHash } from '../../kernel/hash.ts'
import type { Tool, ToolCall, ToolResult } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { toFileName } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'
import type { ProcessExit, Sandbox } from '../sandbox/sandbox.ts'
import { invalidCallError } from '../tool-errors.ts'
import { CapturedOutput } from './captured-output.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

const input = z.object({
  command: z.string().min(1).max(100_000).describe('What to run, for bash.'),
  timeout: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe(`Milliseconds; ${DEFAULT_TIMEOUT_MS} unless given.`),
  description: z.string().optional().describe('What it does, in a few words, for the person who reads along.'),
})

type Input = z.output<typeof input>

export interface BashOptions {
  workspace: Workspace
  sandbox: Sandbox
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** A command in the sandbox. Whatever it started ends with it. */
export function bashTool(options: BashOptions): Tool {
  return defineTool<Input>({
    name: 'Bash',
    description:
      'Run a command with bash in the workspace. It runs in a sandbox: it can write only there and in /tmp, and /tmp is ' +
      'empty each time. Nothing keeps running after the command ends. Use Read, Grep and Glob to look at files.',
    category: 'action',
    kind: 'act',
    input,
    timeout_ms: MAX_TIMEOUT_MS + 30_000,
    subject: ({ command }) => command,
    execute: (request, call) => runCommand(options, request, call),
  })
}

async function runCommand(
  { workspace, sandbox, sleep }: BashOptions,
  request: Input,
  call: ToolCall,
): Promise<ToolResult> {
  if (request.command.includes('\0')) throw invalidCallError('a command may not contain a NUL character')
  call.signal.throwIfAborted()
  const output = new CapturedOutput()
  const work = await sandbox.spawn({ command: request.command, write: call.read_only !== true })
  output.capture(work.child.stdout, work.child.stderr)
  call.signal.addEventListener('abort', work.kill, { once: true })
  if (call.signal.aborted) work.kill()
  const limit = request.timeout ?? DEFAULT_TIMEOUT_MS
  const over = new AbortController()
  let late = false
  const timer = sleep(limit, over.signal).then(
    () => {
      late = true
      work.kill()
    },
    () => {},
  )
  try {
    const ended = await work.ended
    call.signal.throwIfAborted()
    const name = `${toFileName(call.run_id)}-${shortHash(call.idempotency_key)}`
    const shown = [await output.render(workspace, name), ...(ended.repairs ?? []).map((note) => `[${note}]\n`)].join('')
    const why = failureReason(ended, late ? limit : undefined)
    if (why === undefined) return { success: true, output: shown === '' ? '[no output]' : shown }
    return { success: false, error: shown === '' ? why : `${why}\n${shown}` }
  } finally {
    call.signal.removeEventListener('abort', work.kill)
    over.abort()
    await timer
  }
}

function failureReason({ code, signal, limit }: ProcessExit, late: number | undefined): string | undefined {
  if (limit === 'memory') return 'the command used too much memory and was ended'
  if (limit === 'processes') return 'the command started too many processes and was ended'
  if (late !== undefined)
    return `the command did not end within ${late} ms and was ended; give a longer timeout or do less`
  if (code === 0) return undefined
  return signal ? `the command was ended by ${signal}` : `the command failed with status ${code}`
}
