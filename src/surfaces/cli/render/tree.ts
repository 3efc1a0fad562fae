import type { SteerAction } from '../../../kernel/steer.ts'
import { counted, duration, exact } from './amounts.ts'
import type { Collaborations } from './collaboration.ts'
import { inWords, partIn, recommended } from './collaboration.ts'
import { told } from './error.ts'
import type { Look, Span, Style } from './line.ts'
import { line, spansWidth } from './line.ts'
import { waitsForAnswer } from './story.ts'
import type { Asked, Call, Part, Story, Work } from './story-parts.ts'
import { actionWords } from './team-progress.ts'
import type { TeamTold } from './team-told.ts'
import { isReplaced, partInTeam } from './team-told.ts'
import { oneLine } from './width.ts'

export interface TreeOptions {
  look: Look
  now: number
  /** Whether someone works on the run: what has no end is then under way, and else was broken off. */
  live: boolean
  /** Show every tool call, not only the last few of each session. */
  all?: boolean
}

const CALLS_SHOWN = 8

export const GLYPHS: Record<string, readonly [Style, string]> = {
  completed: ['green', '✓'],
  ok: ['green', '✓'],
  failed: ['red', '✗'],
  cancelled: ['yellow', '■'],
  waiting: ['yellow', '?'],
  running: ['cyan', '●'],
  pending: ['dim', '○'],
}

/** Who worked for whom, on what, for how long and how much. */
export function tree(story: Story, options: TreeOptions): string[] {
  const { collaborations, team } = story
  const place = { ...options, collaborations, team, over: story.end !== undefined, first: '', rest: '' }
  return story.parts.flatMap((part) => branch(part, place))
}

interface Place extends TreeOptions {
  collaborations: Collaborations
  team: TeamTold
  /** The run has ended: what is unanswered stays so. */
  over: boolean
  /** What stands before the first line of a part, and before all others. */
  first: string
  rest: string
}

function branch(part: Part, place: Place): string[] {
  const inner = delegated(part)
  if (inner) return branch(inner, place)
  const [instead] = part.parts
  if (part.kind === 'session' && instead && isReplaced(place.team, part)) return branch(instead, place)
  const children = shownParts(part, place.all ?? false)
  const below = part.kind === 'session' && children.length > 0 ? `${place.rest}│ ` : `${place.rest}  `
  const own = ownLines(part, { ...place, rest: below })
  return [
    ...own,
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1
      const next = {
        ...place,
        first: `${place.rest}${last ? '└─ ' : '├─ '}`,
        rest: `${place.rest}${last ? '   ' : '│  '}`,
      }
      return typeof child === 'string' ? [line(place.look, [['dim', next.first + child]])] : branch(child, next)
    }),
  ]
}

/** The session that a delegation opened, or the question that a call asked, says it all. */
function delegated(part: Part): Part | undefined {
  if (part.kind !== 'call' || part.parts.length !== 1) return undefined
  const [only] = part.parts
  return only?.kind === 'call' ? undefined : only
}

function shownParts(part: Part, all: boolean): (Part | string)[] {
  const plain = part.parts.filter((child) => child.kind === 'call' && child.parts.length === 0)
  const hidden = all || plain.length <= CALLS_SHOWN ? [] : plain.slice(0, plain.length - CALLS_SHOWN)
  if (hidden.length === 0) return part.parts
  const rest = part.parts.filter((child) => !hidden.includes(child))
  return [`${counted(hidden.length, 'earlier tool call')} (--all shows them)`, ...rest]
}

function ownLines(part: Part, place: Place): string[] {
  switch (part.kind) {
    case 'session':
      return sessionLines(part, place)
    case 'call':
      return callLines(part, place)
    case 'gate':
      return gateLines(part, place)
  }
}

function sessionLines(work: Work, place: Place): string[] {
  const status = standing(work, place)
  const end = work.ended_at ?? (place.live ? place.now : undefined)
  const facts = [
    ...(status === 'completed' ? [] : [status === 'pending' ? 'broken off' : status]),
    ...(work.stop_reason && work.stop_reason !== work.status ? [work.stop_reason] : []),
    counted(work.calls, 'call'),
    `${exact(work.tokens)} tokens`,
    ...(end === undefined ? [] : [duration(end - work.started_at)]),
  ]
  const name = work.segment > 1 ? `${oneLine(work.agent)} (continued)` : oneLine(work.agent)
  const lines = headed(place, [GLYPHS[status] ?? '', ' ', ['bold', name]], facts.join(' · '))
  const part = partIn(place.collaborations, work.key) ?? partInTeam(place.team, work.key) ?? work.instruction
  if (part) lines.push(detail(place, [['dim', oneLine(part)]]))
  if (work.error) lines.push(detail(place, [['red', told(work.error)]]))
  else if (work.text) lines.push(detail(place, ['→ ', oneLine(saidBy(work, place.collaborations))]))
  return lines
}

function saidBy({ key, text }: Work, { voices }: Collaborations): string {
  const voice = voices.get(key)
  return (voice && recommended(voice)) || inWords(text)
}

function standing(work: Work, place: Place): string {
  if (work.status !== 'running') return work.status
  if (waitsForAnswer(work)) return 'waiting'
  return place.live ? 'running' : 'pending'
}

function callLines(call: Call, place: Place): string[] {
  const status = call.status === 'running' && !place.live ? 'pending' : call.status
  const took =
    call.ended_at === null ? (place.live ? 'under way' : 'broken off') : duration(call.ended_at - call.started_at)
  const lines = headed(place, [GLYPHS[status] ?? '', ' ', oneLine(call.tool)], took)
  if (call.input !== undefined) lines.push(detail(place, [['dim', inputWords(call.input)]]))
  if (call.error) lines.push(detail(place, [['red', told(call.error)]]))
  return lines
}

function gateLines(asked: Asked, place: Place): string[] {
  const open = asked.ended_at === null
  const by = asked.asked_by ? `${oneLine(asked.asked_by)} asks a person` : 'a question to a person'
  const unanswered = place.over ? 'not answered' : `open · ${asked.gate_id}`
  const facts = open ? unanswered : `answered by ${asked.answered_by ?? 'someone'}`
  const lines = headed(place, [GLYPHS[!open ? 'ok' : place.over ? 'cancelled' : 'waiting'] ?? '', ' ', by], facts)
  lines.push(detail(place, [['dim', oneLine(asked.question)]]))
  if (!open) lines.push(detail(place, ['→ ', answerWords(asked.answer)]))
  else if (asked.choices && !place.over)
    lines.push(detail(place, [['dim', `one of: ${oneLine(asked.choices.join(', '))}`]]))
  return lines
}

/** A head and its facts on one line, or on two where one is too narrow. */
function headed(place: Place, head: readonly Span[], facts: string): string[] {
  const { look, first } = place
  const spans: Span[] = [['dim', first], ...head]
  const both: Span[] = [...spans, '  ', ['dim', facts]]
  if (spansWidth(both) <= look.width) return [line(look, both)]
  return [line(look, spans), detail(place, [['dim', facts]])]
}

function detail({ look, rest }: Place, spans: readonly Span[]): string {
  return line(look, [['dim', rest], ...spans])
}

/** What a tool was called with, short: the values alone where there is only one. */
export function inputWords(input: unknown): string {
  if (typeof input !== 'object' || input === null) return oneLine(String(input))
  const entries = Object.entries(input)
  const [only] = entries
  if (entries.length === 1 && only && typeof only[1] === 'string') return oneLine(only[1])
  return oneLine(JSON.stringify(input))
}

export function answerWords(answer: unknown): string {
  // What people ask of a team may answer what it waits for.
  if (typeof answer === 'object' && answer !== null && 'do' in answer)
    return oneLine(actionWords(answer as SteerAction))
  return oneLine(typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? ''))
}
