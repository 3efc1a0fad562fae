import { TroupeError, unknownNameError } from '../../errors.ts'
import { isEvent } from '../event.ts'
import type { ToolCallPart } from '../model.ts'
import type { PatternTool } from '../pattern.ts'
import { formatIssues } from '../schema.ts'
import type { Tool } from '../tool.ts'
import type { ToolCallScope } from './tool-call-scope.ts'
import { withTimeout } from './with-timeout.ts'

/*
 * What a call is to be, before anyone is asked and anything is done: the tool the agent has by that name, its arguments
 * checked, and what hooks made of them. The hooks' verdict is a step of its own, so that a person who is asked for
 * permission and a run that is resumed both see the same call.
 */

export type AnyTool = Tool | PatternTool

export interface ResolvedToolCall {
  tool: AnyTool
  /** As it is recorded: what the model or a hook wrote. */
  input: unknown
  /** As the tool gets it: checked and transformed by its schema. */
  parsed: unknown
}

const TOOL_HOOK_TIMEOUT_MS = 120_000

export async function resolveToolCall(site: ToolCallScope, call: ToolCallPart): Promise<ResolvedToolCall> {
  const tool = findTool(site, call.name)
  if (call.invalid !== undefined) throw invalidInputError(tool.name, `the arguments are not JSON: ${call.invalid}`)
  const checked = tool.input.safeParse(call.input)
  if (!checked.success) throw invalidInputError(tool.name, formatIssues(checked.error))
  const proposal = { tool, input: call.input, parsed: checked.data }
  if (!site.execution.ports.hooks.some((hooks) => hooks.beforeTool)) return proposal
  const verdict = await hookVerdict(site, proposal)
  if (verdict.deny !== undefined) {
    throw new TroupeError('denied', `the call of ${tool.name} was refused: ${verdict.deny}`, {
      hint: 'this is final for this call; do not repeat it unchanged',
    })
  }
  if (!('input' in verdict)) return proposal
  return { tool, input: verdict.input, parsed: parseHookInput(tool, verdict.input) }
}

interface CombinedVerdict {
  deny?: string
  input?: unknown
}

async function hookVerdict(site: ToolCallScope, proposal: ResolvedToolCall): Promise<CombinedVerdict> {
  const { execution, session } = site
  const key = `${site.key}/hooks`
  execution.claim(key)
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) return settled.data.result as CombinedVerdict
  const verdict = await runToolHooks(site, proposal)
  execution.journal.append('step:end', { key, v: 1, input_hash: null, result: verdict }, session.id)
  return verdict
}

async function runToolHooks(site: ToolCallScope, { tool, parsed }: ResolvedToolCall): Promise<CombinedVerdict> {
  const { execution, session, signal } = site
  const about = { run_id: execution.run.id, session_id: session.id, agent: session.opening.agent.name, tool: tool.name }
  const timeoutError = () =>
    new TroupeError('tool_failed', `a hook did not decide about ${tool.name} within ${TOOL_HOOK_TIMEOUT_MS} ms`)
  let verdict: CombinedVerdict = {}
  let input = parsed
  for (const hooks of execution.ports.hooks) {
    if (!hooks.beforeTool) continue
    const asked = async () => hooks.beforeTool?.({ ...about, input })
    const said = await execution.runEffect(() =>
      withTimeout({ world: execution.ports.world, signal, ms: TOOL_HOOK_TIMEOUT_MS, timeoutError }, asked()),
    )
    if (said && 'deny' in said) return { deny: said.deny }
    if (!said) continue
    verdict = { input: said.input }
    input = parseHookInput(tool, said.input)
  }
  return verdict
}

function findTool({ execution, session }: ToolCallScope, name: string): AnyTool {
  const granted = session.opening.tools
  const tool = execution.ports.tools.get(name) ?? execution.ports.patternTools.get(name)
  if (tool && granted.includes(tool.name)) return tool
  const there = granted.filter((each) => execution.ports.tools.get(each) ?? execution.ports.patternTools.get(each))
  throw granted.includes(name)
    ? toolUnavailableError(name, { there, isServerTool: execution.ports.serverToolNames.isServerTool(name) })
    : unknownNameError('unknown_tool', { kind: 'tool', name, known: there })
}

/** The session was opened with this tool, but this run does not have it. */
function toolUnavailableError(
  name: string,
  { there, isServerTool }: { there: string[]; isServerTool: boolean },
): TroupeError {
  const reason = isServerTool ? 'its MCP server is not part of this run' : 'this run does not provide it'
  return new TroupeError('unknown_tool', `the tool '${name}' is no longer available: ${reason}`, {
    alternatives: there,
    hint: 'do without it, or say in your answer that it is missing, so that an agent that has it can take over',
  })
}

/** The model must not pay for what a hook made of its call. */
function parseHookInput(tool: AnyTool, input: unknown): unknown {
  const parsed = tool.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `a hook changed the input of ${tool.name}: ${formatIssues(parsed.error)}`, {
    retry: false,
  })
}

function invalidInputError(tool: string, why: string): TroupeError {
  return new TroupeError('invalid_tool_input', `the arguments of ${tool} do not fit: ${why}`, {
    hint: 'correct the arguments and call it again; a second misfit ends the session',
  })
}
