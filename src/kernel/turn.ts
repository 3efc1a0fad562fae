import type { z } from 'zod'
import { fromRecord, TroupeError } from '../errors.ts'
import { askModel } from './ask.ts'
import { callTool } from './call.ts'
import type { Context } from './context.ts'
import type { Event, StopReason } from './event.ts'
import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { shortHash } from './hash.ts'
import type { AssistantMessage, Model, ToolSpec } from './model.ts'
import { textOf, toolCallsOf, userText } from './model.ts'
import { jsonSchema } from './schema.ts'
import type { SessionState } from './session.ts'
import { apply, lastText } from './session.ts'
import { readAs } from './structured.ts'

/*
 * The one agent loop: ask the model, answer its calls, until it has nothing more to call. Words go to watchers while they
 * are written, facts go to the journal, and the conversation is folded from those facts alone, so that a replay takes the
 * same way.
 */

/** Everything one session needs to go on. */
export interface TurnSite {
  x: Execution
  session: SessionState
  /** Where this segment's steps hang. */
  key: string
  model: Model
  modelName: string
  models: readonly string[]
  tools: readonly ToolSpec[]
  /** The shape that the final answer is to have. */
  output: z.ZodType | undefined
  /** Words that do not have it will do as well. */
  words: boolean
  signal: AbortSignal
  contextFor(key: string): Context
}

export interface TurnEnd {
  stop_reason: StopReason
  text: string
  object?: unknown
  silent?: string
  error: TroupeError | null
}

const SALVAGE =
  'Your last message was empty. State your result now, in words: what you found or did, what is open, and what failed.'
const OUT_OF_TURNS =
  'You have used all your turns for this task and can call no more tools. State what you have: results, what is open.'

export async function turn(site: TurnSite): Promise<TurnEnd> {
  const { session, x } = site
  session.since = session.messages.length
  const maxTurns = session.open.agent.max_turns ?? x.run.limits.turns
  const output = site.output && jsonSchema(site.output)
  let lastWord = false
  let repaired = false
  for (let made = 1; ; made++) {
    const outOfTurns = made > maxTurns
    if (outOfTurns && !lastWord) {
      lastWord = true
      nudge(site, 'salvage', OUT_OF_TURNS)
    }
    const turnKey = `${site.key}/turn/${session.turns + 1}`
    const event = await askModel(site, { turnKey, tools: site.tools, lastWord, output })
    if (!isEvent(event, 'model:end')) return ended(session, event)
    const { message, stop } = event.data
    if (stop === 'refusal') return refused(session, turnKey)
    if (!lastWord && toolCallsOf(message).length > 0) {
      await answerCalls(site, turnKey, message)
      const misfit = unfitArguments(site, turnKey)
      if (misfit) return misfit
      continue
    }
    const end = finalWords(
      site,
      textOf(message),
      outOfTurns ? 'max_turns' : stop === 'length' ? 'partial' : 'completed',
    )
    if (end === 'empty') {
      if (lastWord) return wordless(session, turnKey, outOfTurns ? 'max_turns' : 'partial')
      lastWord = true
      nudge(site, 'salvage', SALVAGE)
    } else if ('misfit' in end) {
      if (repaired || outOfTurns) return misshapen(session, turnKey, end.misfit)
      repaired = true
      nudge(
        site,
        'repair',
        `Your answer does not have the shape that was asked for: ${end.misfit}. Give only the JSON.`,
      )
    } else return end
  }
}

/** The answer as an end, unless it is empty or not of the shape that was asked for. */
function finalWords(site: TurnSite, text: string, stop_reason: StopReason): TurnEnd | 'empty' | { misfit: string } {
  if (text.trim() === '') return 'empty'
  if (!site.output) return { stop_reason, text, error: null }
  const fitted = readAs(site.output, text)
  if (fitted.ok) return { stop_reason, text, object: fitted.object, error: null }
  return site.words ? { stop_reason, text, error: null } : { misfit: fitted.why }
}

/** All calls of one message, in parallel; answers enter the conversation in call order. */
async function answerCalls(site: TurnSite, key: string, message: AssistantMessage): Promise<void> {
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

/** Says something to the agent that nobody asked for, before its next turn. */
function nudge(site: TurnSite, why: 'salvage' | 'repair', words: string): void {
  const key = `${site.key}/turn/${site.session.turns + 1}/${why}`
  site.x.claim(key)
  const recorded = site.x.recorded.settled(key)
  apply(
    site.session,
    recorded ?? site.x.journal.append('session:input', { key, message: userText(words) }, site.session.id),
  )
}

function ended(session: SessionState, event: Event): TurnEnd {
  const text = lastText(session)
  if (isEvent(event, 'limit:hit')) return { stop_reason: 'budget', text, error: fromRecord(event.data.error) }
  if (!isEvent(event, 'model:error')) throw new TroupeError('internal', `a model call ended with ${event.type}`)
  return { stop_reason: 'failed', text: event.data.partial || text, error: fromRecord(event.data.error) }
}

function wordless(session: SessionState, turnKey: string, stop_reason: StopReason): TurnEnd {
  const text = lastText(session)
  return { stop_reason, text, error: null, ...(text.trim() === '' ? { silent: `${turnKey}/model` } : undefined) }
}

function refused(session: SessionState, turnKey: string): TurnEnd {
  const error = new TroupeError('model_refused', 'the model refused to go on', {
    hint: 'reword the instruction, or use another model',
    step: `${turnKey}/model`,
  })
  return { stop_reason: 'refused', text: lastText(session), error }
}

/**
 * Two turns in a row with arguments that do not fit end the session. The step of that end is the verdict, not the
 * answer: asked again, the calls of that answer would be made again.
 */
function unfitArguments({ x, session }: TurnSite, turnKey: string): TurnEnd | undefined {
  if (session.strikes < 2) return undefined
  const step = `${turnKey}/unfit`
  if (x.recorded.reopened(step)) {
    session.strikes = 0
    return undefined
  }
  const error = new TroupeError('invalid_tool_input', 'the model sent unfit tool arguments again after a correction', {
    hint: 'use a stronger model, or make the tool’s schema simpler',
    step,
  })
  return { stop_reason: 'failed', text: lastText(session), error }
}

function misshapen(session: SessionState, turnKey: string, why: string): TurnEnd {
  const error = new TroupeError('model_garbage', `the answer does not have the shape that was asked for: ${why}`, {
    hint: 'use a stronger model, or a simpler shape',
    step: `${turnKey}/model`,
  })
  return { stop_reason: 'failed', text: lastText(session), error }
}
