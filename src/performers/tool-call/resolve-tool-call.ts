import { TroupeError, unknownNameError } from '../../errors.ts'
import { recordValue } from '../../kernel/journal/step.ts'
import type { Message, ToolCallPart } from '../../kernel/model.ts'
import type { PatternTool } from '../../kernel/pattern.ts'
import { delegationDepthError } from '../../kernel/session/delegation.ts'
import type { Tool } from '../../kernel/tool.ts'
import { unescapeTemplateMarksIn } from '../../requests/shown-marks.ts'
import { validateValue } from '../../schema/schema.ts'
import { callHook, checkVerdict, hookScope, hooksOf } from '../call-hook.ts'
import type { HookVerdict } from '../hook.ts'
import { toolForSession } from '../session-tools.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/*
 * Resolves a call before permission is asked: finds the agent's tool, validates the arguments, and applies `beforeTool` hooks.
 * The verdict of the hooks is a step of its own, so that the person who is asked for permission and a resumed run see the
 * same call.
 */

export type AnyTool = Tool | PatternTool

export interface ResolvedToolCall {
  tool: AnyTool
  /** As recorded: the arguments from the model or a hook. */
  input: unknown
  /** As passed to the tool: validated and transformed by its schema. */
  parsed: unknown
}

/** Whether the agent has read a text. */
function wasShown(messages: readonly Message[], text: string): boolean {
  return messages.some(
    ({ role, content }) => role !== 'assistant' && content.some((part) => 'text' in part && part.text.includes(text)),
  )
}

export async function resolveToolCall(scope: ToolCallScope, call: ToolCallPart): Promise<ResolvedToolCall> {
  const tool = findTool(scope, call.name)
  if (call.invalid !== undefined) throw invalidInputError(tool.name, call.invalid)
  // Results are quoted with escaped marks; a file that has them can only be edited with the original text.
  const input = unescapeTemplateMarksIn(call.input, (mark) => wasShown(scope.session.messages, mark))
  const checked = validateValue(tool.input, input)
  if (!checked.ok) throw invalidInputError(tool.name, checked.problem)
  const proposal = { tool, input, parsed: checked.value }
  const { journalIndex } = scope.execution
  if (!journalIndex.outcome(`${scope.key}/hooks`) && !hooksOf(scope.execution).some((hooks) => hooks.beforeTool))
    return proposal
  const verdict = await hookVerdict(scope, proposal)
  if (verdict.deny !== undefined) {
    throw new TroupeError('denied', `a hook denied the call of ${tool.name}: ${verdict.deny}`, {
      hint: 'this verdict of `hooks[].beforeTool` is final for this call; do not repeat it unchanged',
    })
  }
  if (!('input' in verdict)) return proposal
  return { tool, input: verdict.input, parsed: parseHookInput(tool, verdict.input) }
}

interface CombinedVerdict {
  deny?: string
  input?: unknown
}

async function hookVerdict(scope: ToolCallScope, proposal: ResolvedToolCall): Promise<CombinedVerdict> {
  const { execution, session, signal } = scope
  const step = { execution, key: `${scope.key}/hooks`, signal, session_id: session.id, external: true as const }
  return recordValue(step, () => runToolHooks(scope, proposal))
}

async function runToolHooks(scope: ToolCallScope, { tool, parsed }: ResolvedToolCall): Promise<CombinedVerdict> {
  const call = { ...hookScope(scope), tool: tool.name }
  const toError = (problem: string) =>
    new TroupeError('tool_failed', `a hook's beforeTool for ${tool.name} ${problem}`, {
      hint: 'make `hooks[].beforeTool` return faster',
    })
  let verdict: CombinedVerdict = {}
  let input = parsed
  for (const hooks of hooksOf(scope.execution)) {
    if (!hooks.beforeTool) continue
    const proposed = { ...call, input }
    const returned = await callHook(scope, { code: 'tool_failed', toError }, () => hooks.beforeTool?.(proposed))
    const hookResult: HookVerdict = checkVerdict(returned, 'beforeTool')
    if (hookResult && 'deny' in hookResult) return { deny: hookResult.deny }
    if (!hookResult) continue
    verdict = { input: hookResult.input }
    input = parseHookInput(tool, hookResult.input)
  }
  return verdict
}

/** Throws `depth_exceeded` for a delegation tool that was withheld, now that the fields of its event are known. */
export function requireDelegationDepth({ execution, session }: ToolCallScope, tool: AnyTool): void {
  const error = tool.kind === 'pattern' ? delegationDepthError(execution, session.opening, tool) : undefined
  if (error) throw error
}

function findTool({ execution, session }: ToolCallScope, name: string): AnyTool {
  const granted = session.opening.tools
  const tool = toolForSession(execution, session.opening, name) ?? execution.ports.patternTools.get(name)
  if (tool && granted.includes(tool.name)) return tool
  // The model may know the tool from its instructions: `requireDelegationDepth` tells it about the limit.
  if (tool?.kind === 'pattern' && delegationDepthError(execution, session.opening, tool)) return tool
  const unavailable = tool?.kind === 'pattern' ? undefined : tool?.unavailable?.()
  if (tool && unavailable !== undefined) throw withheldToolError(tool.name, unavailable)
  const available = granted.filter((each) => execution.ports.tools.get(each) ?? execution.ports.patternTools.get(each))
  throw granted.includes(name)
    ? toolUnavailableError(name, { available, isServerTool: execution.ports.serverToolNames.isServerTool(name) })
    : unknownNameError('unknown_tool', { kind: 'tool', name, known: available })
}

/** The model may know the tool from its instructions. */
function withheldToolError(name: string, reason: string): TroupeError {
  return new TroupeError('unknown_tool', `the tool '${name}' cannot be used here: ${reason}`, {
    hint: 'do without it, or say in your answer what you could not do and why',
  })
}

/** The session was opened with this tool, but this run does not have it. */
function toolUnavailableError(
  name: string,
  { available, isServerTool }: { available: string[]; isServerTool: boolean },
): TroupeError {
  const reason = isServerTool ? 'its MCP server is not part of this run' : 'this run does not provide it'
  return new TroupeError('unknown_tool', `the tool '${name}' is no longer available: ${reason}`, {
    alternatives: available,
    hint: 'do without it, or say in your answer that it is missing, so that an agent that has it can take over',
  })
}

/** `tool_failed`, not `invalid_tool_input`: the model is not at fault for arguments that a hook changed. */
function parseHookInput(tool: AnyTool, input: unknown): unknown {
  const parsed = validateValue(tool.input, input)
  if (parsed.ok) return parsed.value
  throw new TroupeError(
    'tool_failed',
    `a hook changed the input of ${tool.name} to an invalid one: ${parsed.problem}`,
    { retry: false, hint: "`hooks[].beforeTool` must return an input that matches the tool's schema" },
  )
}

function invalidInputError(tool: string, why: string): TroupeError {
  return new TroupeError('invalid_tool_input', `invalid arguments for ${tool}: ${why}`, {
    hint: 'correct the arguments to match `input` of the tool and call it again; a second invalid call in a row ends the session',
  })
}
