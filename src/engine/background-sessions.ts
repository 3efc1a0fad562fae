import type { Event, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'

interface BackgroundSession {
  session_id: string
  collect_with: SessionOpen['collect_with']
  /** The step that returned its result to the caller: a tool call, or the input with what the caller had not collected. */
  collector?: string
  /** The steps that recorded its result for the collector. */
  results: string[]
}

/** The background sessions of a run by their keys, and who has collected their results. */
export class BackgroundSessions {
  readonly #sessions = new Map<string, BackgroundSession>()
  readonly #hasFailed: (call: string) => boolean

  /** `hasFailed` tells whether a tool call only passed the failure of a session on. */
  constructor(events: readonly Event[], hasFailed: (call: string) => boolean) {
    this.#hasFailed = hasFailed
    const byId = new Map<string, BackgroundSession>()
    for (const event of events) {
      if (isEvent(event, 'session:open') && event.data.background) {
        const { key, collect_with } = event.data
        const session = { session_id: event.session_id ?? '', collect_with, results: [] }
        this.#sessions.set(key, session)
        byId.set(session.session_id, session)
      } else if (isEvent(event, 'step:end')) {
        const { session_id } = (event.data.result ?? {}) as { session_id?: string }
        if (session_id !== undefined) byId.get(session_id)?.results.push(event.data.key)
      } else if (isEvent(event, 'tool:post') || isEvent(event, 'tool:error') || isEvent(event, 'session:input')) {
        for (const id of event.data.collected ?? []) {
          const session = byId.get(id)
          if (session) session.collector = event.data.key
        }
      }
    }
  }

  has(key: string): boolean {
    return this.#sessions.has(key)
  }

  /** The key of the innermost background session that a step belongs to. */
  enclosing(step: string): string | undefined {
    const keys = [...this.#sessions.keys()].filter((key) => step.startsWith(`${key}/`))
    return keys.sort((a, b) => b.length - a.length)[0]
  }

  /** The tool calls that a step belongs to, up to the innermost background session. */
  callsAbove(step: string): string[] {
    const session = this.enclosing(step) ?? ''
    const calls = [...step.matchAll(/\/tool\/\d+(?=\/)/g)].map(({ 0: tool, index }) =>
      step.slice(0, index + tool.length),
    )
    return calls.filter((call) => call.length > session.length)
  }

  /** The key of the session that started a background session. */
  starter(key: string): string | undefined {
    return /^(.+)\/turn\/\d+\/(?:tool|background)\//.exec(key)?.[1]
  }

  collector(key: string): string | undefined {
    return this.#sessions.get(key)?.collector
  }

  /** True when the collector has dealt with a failure, or says itself what to retry. */
  isCollectedForGood(key: string): boolean {
    const { collector, collect_with } = this.#sessions.get(key) ?? {}
    if (collector === undefined) return false
    return collector.endsWith('/background') ? collect_with !== undefined : !this.#hasFailed(collector)
  }

  /** The steps that returned the result of a session to its caller, or to a pattern: they return that of the next attempt. */
  collectedSteps(key: string): string[] {
    const { collector, results = [] } = this.#sessions.get(key) ?? {}
    if (collector === undefined) return results
    const recorded = results.filter((step) => step.startsWith(`${collector}/`))
    return recorded.length > 0 ? recorded : [collector]
  }
}
