import type { Event, EventOf } from '../../../kernel/event.ts'
import { counted, duration, exact } from './amounts.ts'
import { collaborationOf, parentOf, partIn, recommended, unasked } from './collaboration.ts'
import { told } from './error.ts'
import type { Span } from './line.ts'
import type { Saying } from './saying.ts'
import { enclosing } from './story.ts'
import type { Story } from './story-parts.ts'
import { GLYPHS } from './tree.ts'
import { oneLine } from './width.ts'

/** A line for what a collaboration tells of itself, below whoever asked for it. */
export function sayingOfCollaboration(event: Event, story: Story): Saying | undefined {
  switch (event.type) {
    case 'tool:collaborative:start':
      return plain(story, event.data.key, [`${event.data.mode}  `, ['dim', names(event.data.agents)]])
    case 'tool:collaborative:agent:start':
    case 'tool:collaborative:agent:complete':
    case 'tool:collaborative:agent:error':
      return ofAgent(event, story)
    case 'tool:collaborative:synthesis:start':
      return synthesis(event, story)
    case 'tool:collaborative:complete': {
      const { key, agreement_score, agents_count, status } = event.data
      // The run's own end says it better.
      if (parentOf(key) === '' || agreement_score === null) return undefined
      const facts = `${counted(agents_count, 'agent')}, agreement ${Math.round(agreement_score * 100)} %`
      return plain(story, key, [status === 'completed' ? '' : `${status}  `, ['dim', facts]])
    }
    default:
      return undefined
  }
}

/** True for what is told by the collaboration itself: one line for one thing. */
export function toldByCollaboration(event: Event, story: Story): boolean {
  const { collaborations } = story
  if (event.type === 'session:input') {
    const key = parentOf(event.data.key)
    return collaborations.voices.has(key) || partIn(collaborations, key) !== undefined
  }
  if (event.type !== 'session:end' || !collaborations.voices.has(event.data.key)) return false
  return event.data.status !== 'cancelled'
}

type AgentEvent =
  | EventOf<'tool:collaborative:agent:start'>
  | EventOf<'tool:collaborative:agent:complete'>
  | EventOf<'tool:collaborative:agent:error'>

function ofAgent(event: AgentEvent, story: Story): Saying {
  const { key, agent } = event.data
  const site = parentOf(key)
  const who = { agent, depth: depthAt(story, site) }
  if (event.type === 'tool:collaborative:agent:start') {
    const part = partIn(story.collaborations, site) ?? event.data.role
    return { who, spans: ['starts  ', ['dim', oneLine(part)]] }
  }
  if (event.type === 'tool:collaborative:agent:error') {
    return { who, spans: [['red', `${GLYPHS.failed?.[1]} failed  `], told(event.data.error)] }
  }
  const { recommendation = null, confidence = null } = event.data
  const words = oneLine(recommended({ recommendation, confidence })) || 'done'
  return { who, spans: [['green', `${GLYPHS.completed?.[1]} `], words, ['dim', `  ${spentOn(story, site)}`]] }
}

function spentOn(story: Story, key: string): string {
  const work = story.byKey.get(key)
  if (work?.kind !== 'session') return 'known from an earlier run'
  const took = duration((work.ended_at ?? work.started_at) - work.started_at)
  return `${counted(work.calls, 'call')} · ${exact(work.tokens)} tokens · ${took}`
}

const STRATEGIES: Record<string, string> = {
  coordinator: 'the coordinator writes the answer',
  vote: 'the votes are counted',
  merge: 'the answers are put together',
  best_of: 'the evaluator scores the answers',
  solo: 'one voice is enough',
}

function synthesis(event: EventOf<'tool:collaborative:synthesis:start'>, story: Story): Saying {
  const { key, strategy } = event.data
  const within = collaborationOf(story.collaborations, key)
  const spared = within ? unasked(within) : []
  const saved = spared.length === 0 ? '' : `  not asked: ${names(spared)}`
  return plain(story, parentOf(key), [STRATEGIES[strategy] ?? strategy, ['dim', saved]])
}

function names(agents: readonly string[]): string {
  return agents.map(oneLine).join(', ')
}

/** Nobody's line: it stands where the specialists stand. */
function plain(story: Story, key: string, spans: readonly Span[]): Saying {
  return { who: { agent: '', depth: depthAt(story, key) }, spans }
}

function depthAt(story: Story, key: string): number {
  const own = story.byKey.get(key)
  if (own?.kind === 'session') return own.depth
  const caller = enclosing(story, parentOf(key), 'session')
  return caller ? caller.depth + 1 : 0
}
