import { fromRecord, TroupeError } from '../errors.ts'
import { askModel } from './ask.ts'
import { callTool } from './call.ts'
import type { Context } from './context.ts'
import type { Event, StopReason } from './event.ts'
import { isEvent } from './event.ts'
import type { Delta, Execution } from './execution.ts'
import { shortHash } from './hash.ts'
import type { AssistantMessage, Model, ToolSpec } from './model.ts'
import { textOf, toolCallsOf, userText } from './model.ts'
import type { SessionState } from './session.ts'
import { apply, lastText } from './session.ts'

/*
 * The one agent loop: ask the model, answer its calls, until it has nothing more to call. Deltas are yielded, facts go
 * to the journal, and the conversation is folded from those facts alone, so a replay takes the same way.
 */

/** Everything one session needs to go on. */
export interface TurnSite {
  x: Execution
  session: SessionState
  /** Where this segment's steps hang. */
  key: string
  model: Model
  modelName: string
  tools: readonly ToolSpec[]
  signal: AbortSignal
  contextFor(key: string): Context
}

export interface TurnEnd {
  stop_reason: StopReason
  text: string
  error: TroupeError | null
}

const SALVAGE =
  'Your last message was empty. State your result now, in words: what you found or did, what is open, and what failed.'
const OUT_OF_TURNS =
  'You have used all your turns for this task and can call no more tools. State what you have: results, what is open.'

export async function* turn(site: TurnSite): AsyncGenerator<Delta, TurnEnd> {
  const { session, x } = site
  const from = session.messages.length
  const maxTurns = session.open.agent.max_turns ?? x.run.limits.turns
  let salvaged = false
  for (let made = 1; ; made++) {
    const outOfTurns = made > maxTurns
    if (outOfTurns && !salvaged) {
      salvaged = true
      salvage(site, OUT_OF_TURNS)
    }
    const key = `${site.key}/turn/${session.turns + 1}`
    const event = yield* askModel(site, key, salvaged ? [] : site.tools)
    if (!isEvent(event, 'model:end')) return ended(session, from, event)
    const { message, stop } = event.data
    const calls = salvaged ? [] : toolCallsOf(message)
    if (stop === 'refusal') return refused(session, from, key)
    if (calls.length === 0) {
      const text = textOf(message)
      if (outOfTurns) return { stop_reason: 'max_turns', text: text || lastText(session, from), error: null }
      if (text.trim() !== '') return { stop_reason: stop === 'length' ? 'partial' : 'completed', text, error: null }
      if (salvaged) return { stop_reason: 'partial', text: lastText(session, from), error: null }
      salvaged = true
      salvage(site, SALVAGE)
      continue
    }
    yield* answerCalls(site, key, message)
    if (session.strikes > 1) return unfit(session, from, key)
  }
}

/** All calls of one message, in parallel; answers enter the conversation in call order. */
async function* answerCalls(site: TurnSite, key: string, message: AssistantMessage): AsyncGenerator<Delta, void> {
  const { x, session, signal } = site
  const group = `pg_${shortHash(`${x.run.id}\n${key}`)}`
  const answering = toolCallsOf(message).map((call, ordinal) =>
    callTool({ x, session, signal, group, key: `${key}/tool/${ordinal}`, contextFor: site.contextFor }, call),
  )
  const answers = await Promise.allSettled(answering)
  const aborted = answers.find((answer) => answer.status === 'rejected')
  for (const answer of answers) if (answer.status === 'fulfilled') apply(session, answer.value)
  if (aborted) throw aborted.reason
}

function salvage(site: TurnSite, words: string): void {
  const key = `${site.key}/turn/${site.session.turns + 1}/salvage`
  site.x.claim(key)
  const recorded = site.x.recorded.settled(key)
  apply(
    site.session,
    recorded ?? site.x.journal.append('session:input', { key, message: userText(words) }, site.session.id),
  )
}

function ended(session: SessionState, from: number, event: Event): TurnEnd {
  const text = lastText(session, from)
  if (isEvent(event, 'limit:hit')) return { stop_reason: 'budget', text, error: fromRecord(event.data.error) }
  if (!isEvent(event, 'model:error')) throw new TroupeError('internal', `a model call ended with ${event.type}`)
  return { stop_reason: 'failed', text: event.data.partial || text, error: fromRecord(event.data.error) }
}

function refused(session: SessionState, from: number, step: string): TurnEnd {
  const error = new TroupeError('model_refused', 'the model refused to go on', {
    hint: 'reword the instruction, or use another model',
    step: `${step}/model`,
  })
  return { stop_reason: 'refused', text: lastText(session, from), error }
}

function unfit(session: SessionState, from: number, step: string): TurnEnd {
  const error = new TroupeError(
    'invalid_tool_input',
    'the model sent unfit tool arguments again after it was corrected',
    {
      hint: 'use a stronger model, or make the tool’s schema simpler',
      step: `${step}/model`,
    },
  )
  return { stop_reason: 'failed', text: lastText(session, from), error }
}
