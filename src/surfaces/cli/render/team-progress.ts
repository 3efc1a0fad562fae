import type { Event, EventOf } from '../../../kernel/event.ts'
import type { SteerAction } from '../../../kernel/steer.ts'
import type { Look, Span } from './line.ts'
import type { Saying } from './saying.ts'
import type { Story } from './story-parts.ts'
import { briefReason, partInTeam, routeWords, teamsAbove } from './team-told.ts'
import { oneLine, wrap } from './width.ts'

/** A line for what a team tells of itself. */
export function sayingOfTeam(event: Event): Saying | undefined {
  switch (event.type) {
    case 'team:start':
      return at(event.data.key, started(event))
    case 'team:handoff':
      return at(event.data.key, handedOver(event))
    case 'team:group': {
      const { key, group, kind, members } = event.data
      const how = kind === 'parallel' ? 'at once' : 'for one answer'
      return at(key, [['bold', oneLine(group)], `  ${members.map(oneLine).join(', ')} ${how}`])
    }
    case 'team:loop':
      return at(event.data.key, [['yellow', `${loopWords(event.data.kind)}  ${oneLine(event.data.message)}`]])
    case 'team:compress':
      return at(event.data.key, [['dim', compressed(event)]])
    case 'run:steer':
      return { spans: [['dim', `${oneLine(event.data.by)} asks: ${oneLine(actionWords(event.data.action))}`]] }
    case 'team:steered':
      return at(event.data.key, steered(event))
    default:
      return undefined
  }
}

function started({ data: { team, first, formed = [], warnings = [] } }: EventOf<'team:start'>): Span[] {
  const joined = formed.map(
    ({ name, uses, by = [] }) => `${name} is ${uses}${by.length > 0 ? ` (${by.join(', ')})` : ''}`,
  )
  return [
    `${oneLine(team)}: `,
    ['bold', oneLine(first)],
    ' begins',
    ['dim', joined.length === 0 ? '' : `  ${oneLine(joined.join(', '))}`],
    ['yellow', warnings.length === 0 ? '' : `  (${oneLine(warnings.join('; '))})`],
  ]
}

/** A long way is no circle. */
export function loopWords(kind: string): string {
  return kind === 'max_rounds' ? 'comes to its limit' : 'goes in circles'
}

/** From whom to whom, and why. */
export function handedOver({ data }: EventOf<'team:handoff'>): Span[] {
  const { key, from, to, handoff_reason, problems = [] } = data
  const [who, whom] = [from === 'user' ? 'you' : from, whomWords(to, teamsAbove(key) > 0)]
  const beside = problems.length > 0 ? `  (${oneLine(problems.join('; '))})` : ''
  return [
    ['bold', oneLine(who)],
    ' → ',
    ['bold', oneLine(whom)],
    ['dim', `  ${oneLine(briefReason(handoff_reason))}`],
    ['yellow', beside],
  ]
}

/** Who gets the work; a team within a team returns to the one above it. */
export function whomWords(to: string | null, inside: boolean): string {
  if (to === null) return inside ? 'back' : 'the end'
  if (to !== 'user') return to
  return inside ? 'back' : 'you'
}

function compressed({ data: { before, after, messages, error } }: EventOf<'team:compress'>): string {
  if (error !== undefined) return `the conversation could not be summed up: ${oneLine(error)}`
  const size = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} kB`
  return `${messages} older messages are summed up: ${size(before)} → ${size(after)}`
}

function steered({ data: { action, by, taken, why } }: EventOf<'team:steered'>): Span[] {
  const said = oneLine(actionWords(action))
  return taken ? [`taken: ${said}`] : [['yellow', `not taken: ${said}, asked by ${oneLine(by)}: ${oneLine(why ?? '')}`]]
}

export function actionWords(action: SteerAction): string {
  switch (action.do) {
    case 'override':
      return `${action.agent} goes on`
    case 'set':
      return `${action.name} = ${JSON.stringify(action.value)}`
    case 'say':
      return `says ${action.text}`
    default:
      return action.do
  }
}

/** Nobody's line; what a team within a team tells is indented below it. */
function at(key: string, spans: readonly Span[]): Saying {
  return { who: { agent: '', depth: teamsAbove(key) }, spans }
}

/** How a session of a team is announced; `undefined` for all others. */
export function beginsInTeam(story: Story, key: string): Span[] | undefined {
  const part = partInTeam(story.team, key)
  if (part === undefined) return undefined
  const speaks = /(^|\/)(agent|group\/member\/[^/]+)$/.test(key)
  // The handoff before it has said why.
  return speaks ? ['speaks  ', ['dim', part.replace(/:.*$/s, '')]] : [['dim', oneLine(part)]]
}

/** The way that the work took. */
export function routeLines(route: readonly string[], look: Look): string[] {
  if (route.length === 0) return []
  return wrap(`route: ${oneLine(routeWords(route))}`, look.width, 2).map((text) => look.paint('dim', text))
}
