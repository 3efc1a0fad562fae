import { unifiedDiff } from '../judgement/diff/unified-diff.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import { textFrom } from '../kernel/model.ts'
import { originText } from '../run-model/lane-rows.ts'
import { fileChangeBlocks } from './detail/file-change.ts'
import { isObject, valueBlocks } from './detail/value-blocks.ts'
import { formatIdentifier, pluralize } from './format-amount.ts'
import type { PanelBlock, PanelFact } from './panel.ts'
import type { DiffPreview, PermissionCall } from './permission-call.ts'
import { acceptsRule, isShownByDiff, permissionCallFrom } from './permission-call.ts'

/*
 * Everything that a person needs to answer a question: the whole call, who asks and where that agent is from, its own words as a claim, and
 * what happened before. Nothing is left out of a call: an approval covers all of it.
 */

/** The gate with the session that asks. */
export interface AskedGate extends Gate {
  session_id?: string | null
}

/** `events` are those of the session that asks, or of the whole run. */
export function gateBlocks(events: readonly Event[], gate: AskedGate): PanelBlock[] {
  const asked = events.find((event) => isEvent(event, 'gate:open') && event.data.gate_id === gate.gate_id)
  const before = asked?.seq ?? Number.POSITIVE_INFINITY
  const session_id = gate.session_id ?? asked?.session_id
  const session = events.filter((event) => event.session_id === session_id)
  const own = session.filter(({ seq }) => seq <= before)
  const call = permissionCallFrom(gate)
  const facts = [...askerFacts(own, gate), ...(call ? callFacts(call) : choiceFacts(gate))]
  return [
    ...(facts.length === 0 ? [] : [{ kind: 'facts' as const, facts }]),
    ...(call ? callBlocks(events, call, { session_id: session_id ?? undefined, before }) : detailBlocks(gate)),
    ...claimBlocks(own, gate),
    ...historyBlocks(session, { before, asker: isEvent(asked, 'gate:open') ? asked.data.key : '' }),
    ...(call ? [answerBlock(call)] : []),
  ]
}

function askerFacts(own: readonly Event[], { asked_by }: AskedGate): PanelFact[] {
  const open = own.findLast((event) => isEvent(event, 'session:open'))
  if (!isEvent(open, 'session:open'))
    return asked_by === undefined ? [] : [{ label: 'agent', value: asked_by, unit: 'agent' }]
  const { agent, model, path, workspace, worktree } = open.data
  const folder = worktree ? `worktree of branch ${worktree.branch}` : workspace
  return [
    { label: 'agent', value: agent.name, unit: 'agent' },
    { label: 'from', value: originText(agent.origin) ?? 'the program' },
    ...(model === undefined ? [] : [{ label: 'model', value: model }]),
    { label: 'asked for by', value: ['you', ...path].join(' → ') },
    ...(folder === undefined ? [] : [{ label: 'works in', value: folder, unit: 'code' as const }]),
  ]
}

function callFacts({ tool, subject, reason, fingerprint }: PermissionCall): PanelFact[] {
  return [
    { label: 'tool', value: tool, unit: 'code' },
    ...(subject === undefined ? [] : [{ label: 'target', value: subject, unit: 'code' as const }]),
    ...(reason === undefined ? [] : [{ label: 'asks because', value: reason, tone: 'attention' as const }]),
    ...(fingerprint === undefined ? [] : [{ label: 'bound to', value: fingerprint, unit: 'code' as const }]),
  ]
}

/** The change as a diff, then every argument that it does not show. */
function callBlocks(
  events: readonly Event[],
  call: PermissionCall,
  place: { session_id: string | undefined; before: number },
): PanelBlock[] {
  const { tool, input, change } = call
  const changes = change ? previewBlocks(change) : fileChangeBlocks(events, input, place)
  if (!isObject(input)) return [...changes, ...valueBlocks(input, `Input of ${tool}`)]
  const isWhole = changes.some((block) => hasText(block, input.content))
  const rest = Object.entries(input).filter(
    ([field]) => !isShownByDiff(call, field) && !(isWhole && field === 'content'),
  )
  return [...changes, ...valueBlocks(Object.fromEntries(rest), `Input of ${tool}`)]
}

/** Whether a block is a text itself, or the diff of a new file with it. */
function hasText(block: PanelBlock, text: unknown): boolean {
  if (typeof text !== 'string' || text === '') return false
  return block.kind === 'diff' ? block.diff === unifiedDiff('', text) : block.kind === 'code' && block.text === text
}

function previewBlocks({ path, diff, is_new, omitted_lines }: DiffPreview): PanelBlock[] {
  if (diff === '') {
    const value = is_new ? 'creates the file, empty' : 'none: the file has this text already'
    return [{ kind: 'facts', facts: [{ label: 'change', value }] }]
  }
  const omitted = {
    label: 'diff',
    value: `${pluralize(omitted_lines ?? 0, 'more line')}; the whole new text is in the input below`,
  }
  return [
    { kind: 'diff', path, diff },
    ...(omitted_lines === undefined
      ? []
      : [{ kind: 'facts' as const, facts: [{ ...omitted, tone: 'attention' as const }] }]),
  ]
}

function choiceFacts({ choices = [] }: AskedGate): PanelFact[] {
  return choices.length === 0 ? [] : [{ label: 'choices', value: choices.join('; ') }]
}

function detailBlocks({ detail }: AskedGate): PanelBlock[] {
  return valueBlocks(withoutAnswers(detail), 'About the question').map((block) => ({
    ...block,
    title: formatIdentifier(block.title ?? ''),
  }))
}

/** The answers are the buttons. */
function withoutAnswers(detail: unknown): unknown {
  if (!isObject(detail)) return detail
  const { answers: _, ...rest } = detail
  return rest
}

/** The last words of the agent. */
function claimBlocks(own: readonly Event[], { asked_by }: AskedGate): PanelBlock[] {
  const said = own.findLast((event) => isEvent(event, 'model:end') && textFrom(event.data.message).trim() !== '')
  if (!isEvent(said, 'model:end')) return []
  const open = own.findLast((event) => isEvent(event, 'session:open'))
  const agent = isEvent(open, 'session:open') ? open.data.agent.name : (asked_by ?? 'agent')
  return [{ kind: 'text', title: 'Last message', text: textFrom(said.data.message), claimed_by: agent }]
}

const CALLS_SHOWN = 12

interface EarlierCall {
  at: number
  call: string
  state: string
  error: string
}

/** The newest calls of the session before the question, with denials; without the call that asks. */
function historyBlocks(session: readonly Event[], { before, asker }: { before: number; asker: string }): PanelBlock[] {
  const calls = new Map<string, EarlierCall>()
  for (const event of session) {
    if (isEvent(event, 'tool:pre') && event.seq <= before) {
      const { key, tool, subject = '', agent = '' } = event.data
      calls.set(key, { at: event.at, call: `${tool} ${subject || agent}`.trim(), state: 'running', error: '' })
    }
    if (isEvent(event, 'tool:post')) Object.assign(calls.get(event.data.key) ?? {}, { state: 'completed' })
    if (isEvent(event, 'tool:error') && (event.seq <= before || calls.has(event.data.key))) {
      const { key, tool, error } = event.data
      calls.set(key, { at: event.at, call: tool, ...calls.get(key), state: 'failed', error: `\n${error}` })
    }
  }
  const isAsking = (key: string) => asker === key || asker.startsWith(`${key}/`)
  const shown = [...calls].flatMap(([key, call]) => (isAsking(key) ? [] : [call]))
  if (shown.length === 0) return []
  return [
    {
      kind: 'table',
      title: shown.length > CALLS_SHOWN ? `Before this, ${CALLS_SHOWN} of ${shown.length} calls` : 'Before this',
      context: true,
      columns: [
        { key: 'at', title: 'At', unit: 'time' },
        { key: 'call', title: 'Call', unit: 'code' },
        { key: 'state', title: 'State', unit: 'state' },
      ],
      rows: shown.slice(-CALLS_SHOWN).map(({ at, call, state, error }) => ({ at, call: `${call}${error}`, state })),
    },
  ]
}

function answerBlock(call: PermissionCall): PanelBlock {
  return {
    kind: 'facts',
    title: 'What happens next',
    context: true,
    facts: [
      { label: 'allow', value: 'this exact call, once' },
      { label: 'always', value: 'identical calls in this run, too' },
      {
        label: 'deny',
        value: 'the agent gets your reason and goes on without the call; it cannot ask for the same again',
      },
      ...(acceptsRule(call)
        ? [{ label: `${call.tool}(pattern)`, value: 'every call in this run that the rule matches' }]
        : []),
    ],
  }
}
