import type { Event } from '../../../kernel/event.ts'
import { counted, duration, exact } from './amounts.ts'
import { sayingOfCollaboration, toldByCollaboration } from './collaboration-progress.ts'
import { told } from './error.ts'
import type { Look, Span, Style } from './line.ts'
import { line } from './line.ts'
import { isReply } from './result.ts'
import type { Saying } from './saying.ts'
import { atWork, enclosing } from './story.ts'
import type { Story, Work } from './story-parts.ts'
import { beginsInTeam, sayingOfTeam } from './team-progress.ts'
import { isReplaced } from './team-told.ts'
import { answerWords, GLYPHS, inputWords } from './tree.ts'
import { oneLine, sized } from './width.ts'

const TIME = 6

/** One line for an event that a person wants to hear of; the story has heard it already. */
export function progressLine(event: Event, story: Story, look: Look): string | undefined {
  const said = sayingOf(event, story)
  if (!said) return undefined
  const { who, spans } = said
  const indent = '  '.repeat(Math.min(who?.depth ?? 0, 4))
  const name: Span[] = who?.agent ? [['bold', oneLine(who.agent)], '  '] : []
  const elapsed = sized(duration(event.at - story.started_at), TIME, 'right')
  return line(look, [['dim', elapsed], '  ', indent, ...name, ...spans])
}

function sayingOf(event: Event, story: Story): Saying | undefined {
  switch (event.type) {
    case 'run:start':
      return { spans: ['run ', ['bold', event.run_id], ` started: ${event.data.pattern}`] }
    case 'run:attempt':
      return event.data.epoch > 1 ? { spans: ['taken up again'] } : undefined
    case 'run:reopen':
      return { spans: ['reopened'] }
    case 'run:interrupt':
      return { spans: [['yellow', 'interrupted']] }
    case 'run:cancel':
      return { spans: [['yellow', event.data.reason ? `cancelled: ${oneLine(event.data.reason)}` : 'cancelled']] }
    case 'step:drift':
      return { spans: [['yellow', `asks something else than before: ${event.data.key}`]] }
    default:
      return sayingOfCollaboration(event, story) ?? sayingOfTeam(event) ?? ofSession(event, story)
  }
}

function ofSession(event: Event, story: Story): Saying | undefined {
  const who = 'key' in event.data && event.data.key !== null ? enclosing(story, event.data.key, 'session') : undefined
  switch (event.type) {
    case 'session:input':
      if (event.data.key !== `${who?.key}/input`) return { who, spans: [['yellow', 'is asked for its result']] }
      if (toldByCollaboration(event, story)) return undefined
      if (who && beginsInTeam(story, who.key)) return { who, spans: beginsInTeam(story, who.key) ?? [] }
      return {
        who,
        spans: [(who?.segment ?? 1) > 1 ? 'continues  ' : 'starts  ', ['dim', oneLine(who?.instruction ?? '')]],
      }
    case 'session:end':
      if (who && isReplaced(story.team, who)) return { who, spans: [['dim', 'has no model of its own']] }
      return who && !toldByCollaboration(event, story) ? { who, spans: ended(who) } : undefined
    case 'model:error':
      return { who, spans: [['red', told(event.data.error)]] }
    case 'model:lost':
      return { who, spans: [['yellow', `lost a model call (${event.data.why})`]] }
    case 'tool:pre':
      return event.data.kind === 'pattern'
        ? undefined
        : { who, spans: [`${oneLine(event.data.tool)}  `, ['dim', inputWords(event.data.input)]] }
    case 'tool:error':
      return { who, spans: [['red', `${oneLine(event.data.tool)} failed  `], oneLine(event.data.error)] }
    case 'limit:hit':
      return { who, spans: [['yellow', `limit ${event.data.limit} reached: ${event.data.used} of ${event.data.max}`]] }
    case 'gate:open':
      if (isReply(event.data)) return { spans: [['yellow', 'waits for your answer']] }
      return { who, spans: [['yellow', 'asks  '], oneLine(event.data.question)] }
    case 'gate:answer':
      return { who, spans: ['is answered  ', answerWords(event.data.answer)] }
    default:
      return undefined
  }
}

function ended(work: Work): Span[] {
  const [style, glyph] = GLYPHS[work.status] ?? (['dim', ''] as const)
  const took = duration((work.ended_at ?? work.started_at) - work.started_at)
  const why = work.error ? `  ${told(work.error)}` : ''
  const words =
    work.stop_reason === 'completed'
      ? 'done'
      : work.stop_reason === work.status
        ? work.status
        : `${work.status} (${work.stop_reason})`
  const facts = `  ${counted(work.calls, 'call')} · ${exact(work.tokens)} tokens · ${took}`
  return [[style satisfies Style, `${glyph} ${words}`], ['dim', facts], why]
}

/** A line for each session at work: since when, what it does, its last words. Never more than `most` lines. */
export function liveLines(
  story: Story,
  words: ReadonlyMap<string, string>,
  at: { now: number; look: Look; most?: number },
): string[] {
  const { now, look, most = 8 } = at
  const active = atWork(story).filter((work) => !work.parts.some(hasWorker))
  const shown = active.slice(0, most)
  const widest = Math.min(20, Math.max(0, ...shown.map((work) => work.agent.length)))
  const lines = shown.map((work) => {
    const since = duration(now - work.started_at)
    const state = work.thinking_since === null ? callState(work) : 'thinking'
    const tail = oneLine((words.get(work.session_id) ?? '').slice(-200))
    const facts = `  ${sized(since, TIME, 'right')}  ${exact(work.tokens)} tokens  ${state}`
    return line(look, [
      ['cyan', '● '],
      ['bold', sized(oneLine(work.agent), widest)],
      facts,
      ['dim', tail ? `  …${tail}` : ''],
    ])
  })
  if (active.length > shown.length)
    lines.push(line(look, [['dim', `  and ${active.length - shown.length} more at work`]]))
  return lines
}

/** A session whose sub-agents are at work waits for them: they are shown instead. */
function hasWorker(part: Work['parts'][number]): boolean {
  if (part.kind === 'session' && part.status === 'running') return true
  return part.parts.some(hasWorker)
}

function callState(work: Work): string {
  const running = work.parts.filter((part) => part.kind === 'call' && part.status === 'running')
  const [first] = running
  if (first?.kind !== 'call') return 'working'
  return running.length === 1 ? `runs ${oneLine(first.tool)}` : `runs ${running.length} tools`
}
