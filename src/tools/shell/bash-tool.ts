import { shortHash } from '../../kernel/hash.ts'
import type { Tool, ToolCall, ToolResult } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import type { ReportedChanges } from '../files/reported-changes.ts'
import { toFileName } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'
import type { ProcessExit, Sandbox } from '../sandbox/sandbox.ts'
import type { Searcher } from '../search/searcher.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { ChangedFiles, ChangeTracker } from './changed-files.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

const input = z.object({
  command: z.string().min(1).max(100_000),
  timeout: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe(`Milliseconds. Default: ${DEFAULT_TIMEOUT_MS}.`),
})

type Input = z.output<typeof input>

export interface BashOptions {
  workspace: Workspace
  sandbox: Sandbox
  searcher: Searcher
  /** The hosts that sandboxed commands can reach. */
  hosts: readonly string[]
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  reportedChanges: ReportedChanges
}

/** The `Bash` tool: runs a command in the sandbox and kills all its processes at the end. */
export function bashTool(options: BashOptions): Tool {
  let changes: ChangeTracker | undefined
  return defineTool<Input>({
    name: 'Bash',
    description: describeBash(options),
    category: 'action',
    kind: 'act',
    input,
    timeout_ms: MAX_TIMEOUT_MS + 30_000,
    subject: ({ command }) => command,
    async execute(request, call) {
      if (call.file_artifacts !== true || call.read_only === true) return runCommand(options, request, call)
      const { createChangeTracker } = await import('./changed-files.ts')
      changes ??= createChangeTracker(options)
      const endComparison = await changes.start(call)
      return withChangedFiles(await runCommand(options, request, call), await endComparison())
    },
  })
}

/** Files count even if the command has failed: the agent has written them. */
function withChangedFiles(result: ToolResult, { notes, ...changed }: ChangedFiles): ToolResult {
  const note = notes.map((line) => `[${line}]\n`).join('')
  if (result.success) return { ...result, ...changed, output: `${result.output}${note}` }
  return { ...result, ...changed, ...(note === '' ? undefined : { error: `${result.error}\n${note}` }) }
}

function describeBash({ sandbox, hosts }: BashOptions): string {
  const look = 'To look at files, use Read, Grep and Glob.'
  if (sandbox.kind === 'none') return `Run a bash command in the workspace. ${look}`
  const network = hosts.length === 0 ? 'No network.' : `Only these hosts can be reached: ${hosts.join(', ')}.`
  return (
    'Run a bash command in the workspace, in a sandbox. It can write only to the workspace and /tmp, empty each time; ' +
    `no process outlives it. ${network} ${look}`
  )
}

async function runCommand(
  { workspace, sandbox, sleep }: BashOptions,
  request: Input,
  call: ToolCall,
): Promise<ToolResult> {
  if (request.command.includes('\0')) throw invalidCallError('`command` contains a NUL character', 'remove it')
  call.signal.throwIfAborted()
  const { CapturedOutput } = await import('./captured-output.ts')
  const output = new CapturedOutput()
  const running = await sandbox.spawn({ command: request.command, write: call.read_only !== true })
  output.capture(running.child.stdout, running.child.stderr)
  call.signal.addEventListener('abort', running.kill, { once: true })
  if (call.signal.aborted) running.kill()
  const limit = request.timeout ?? DEFAULT_TIMEOUT_MS
  const done = new AbortController()
  let timedOut = false
  const timer = sleep(limit, done.signal).then(
    () => {
      timedOut = true
      running.kill()
    },
    () => {},
  )
  try {
    const exit = await running.ended
    call.signal.throwIfAborted()
    const name = `${toFileName(call.run_id)}-${shortHash(call.idempotency_key)}`
    const shown = [await output.render(workspace, name), ...(exit.repairs ?? []).map((note) => `[${note}]\n`)].join('')
    const reason = failureReason(exit, timedOut ? limit : undefined)
    if (reason === undefined) return { success: true, output: shown === '' ? '[no output]' : shown }
    return { success: false, error: shown === '' ? reason : `${reason}\n${shown}` }
  } finally {
    call.signal.removeEventListener('abort', running.kill)
    done.abort('done')
    await timer
  }
}

function failureReason({ code, signal, limit }: ProcessExit, timeout: number | undefined): string | undefined {
  if (limit === 'memory') return 'the command exceeded the memory limit and was killed'
  if (limit === 'processes') return 'the command exceeded the process limit and was killed'
  if (timeout !== undefined)
    return `the command exceeded its timeout of ${timeout} ms and was killed; increase \`timeout\` or do less`
  if (code === 0) return undefined
  return signal ? `the command was killed by ${signal}` : `the command failed with status ${code}`
}
