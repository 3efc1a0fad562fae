import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { toTroupeError } from '../../src/errors.ts'
import { NO_METADATA } from '../../src/kernel/run-metadata.ts'
import type { ToolCall, ToolResult } from '../../src/kernel/tool.ts'
import { parseValue } from '../../src/schema/schema.ts'
import type { Toolbox, ToolsOptions } from '../../src/tools/tools.ts'
import { createTools } from '../../src/tools/tools.ts'
import { requireSandbox } from '../support/require-program.ts'

export type ToolCallOutcome = ToolResult & { code?: string; text: string }

/** Tools on a new workspace, with a folder outside that they must not reach. */
export interface ToolWorkspace extends Disposable {
  root: string
  workspace: string
  outside: string
  toolbox: Toolbox
  /** Calls a tool as a session would; a thrown error becomes a failed result. */
  call(tool: string, input: unknown, more?: Partial<ToolCall>): Promise<ToolCallOutcome>
  /** Writes a file in the workspace directly, without tools. */
  writeFile(path: string, content: string | Uint8Array): void
}

let callCount = 0

export function createToolWorkspace(options: Partial<ToolsOptions> = {}): ToolWorkspace {
  if (options.sandbox !== 'none') requireSandbox()
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-tools-')))
  const [workspace, outside] = [join(root, 'workspace'), join(root, 'outside')]
  for (const folder of [workspace, outside]) mkdirSync(folder)
  const toolbox = createTools({ workspace, ...options })
  return {
    root,
    workspace,
    outside,
    toolbox,
    call: (name, input, more) => callTool(toolbox, name, input, more),
    writeFile(path, content) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true })
      writeFileSync(join(workspace, path), content)
    },
    [Symbol.dispose]() {
      void toolbox.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

export async function callTool(
  toolbox: Toolbox,
  name: string,
  input: unknown,
  more?: Partial<ToolCall>,
): Promise<ToolCallOutcome> {
  const tool = toolbox.tools.find((candidate) => candidate.name === name)
  if (!tool) throw new Error(`no tool ${name}`)
  const call = { ...toolCallContext(), ...more }
  try {
    const result = await tool.execute(parseValue(tool.input, input) as never, call)
    return { ...result, text: resultText(result) }
  } catch (thrown) {
    const error = toTroupeError(thrown)
    const text = [error.message, error.hint].join('\n')
    return { success: false, error: text, code: error.code, text }
  }
}

export function toolCallContext(): ToolCall {
  const id = `call_${++callCount}`
  return {
    run_id: 'run_1',
    session_id: 'session_1',
    agent: 'tester',
    run: NO_METADATA,
    tool_call_id: id,
    idempotency_key: `key_${id}`,
    signal: new AbortController().signal,
  }
}

function resultText({ output, error }: ToolResult): string {
  const shown = typeof output === 'string' ? output : output === undefined ? '' : JSON.stringify(output)
  return error === undefined ? shown : `${error}\n${shown}`
}
