import type { Event, StreamItem } from '../../../index.ts'
import { outputText } from '../../../views/pattern-views.ts'
import type { LoadedView } from '../../../views/run-view.ts'
import { isPatternEvent } from '../../../views/run-view.ts'
import { ResponseParts } from './response-parts.ts'
import type { ModelTokens, RunAgent, RunMessage, RunOutcome, RunQuestion } from './run-message.ts'

type EventWith<T extends Event['type']> = Extract<Event, { type: T }>

/** Turns the events and text deltas of a run into messages for front ends. */
export class RunMessages {
  readonly #run_id: string
  readonly #views: readonly LoadedView[]
  readonly #responses = new ResponseParts()
  readonly #agents = new Map<string, RunAgent>()
  readonly #openAgents = new Set<RunAgent>()
  readonly #calls = new Set<string>()
  readonly #questions = new Map<string, RunQuestion>()
  readonly #models = new Map<string, string>()
  readonly #tokens = new Map<string, ModelTokens>()
  #main: RunAgent | undefined
  #pattern = ''
  #mainText = ''
  #hasEnded = false

  constructor(run_id: string, views: readonly LoadedView[]) {
    this.#run_id = run_id
    this.#views = views
  }

  add(item: StreamItem): RunMessage[] {
    if ('event' in item) return this.#addEvent(item.event)
    if ('waiting' in item) return []
    const agent = this.#agents.get(item.delta.session_id)
    return agent ? this.#responses.addDelta({ ...item.delta, key: this.#idOf(item.delta.key) }, agent) : []
  }

  /** What a response that continues an earlier one begins with. It counts only its own tokens. */
  continue(): RunMessage[] {
    this.#tokens.clear()
    return [...this.#openAgents].map((agent) => ({ kind: 'agent_start', agent }))
  }

  /** The stream of the run is over; if the run is not, it waits for a person or was interrupted. */
  finish(error?: { code: string; message: string }): RunMessage[] {
    if (this.#hasEnded) return []
    const questions = [...this.#questions.values()]
    if (error) return this.#end({ status: 'failed', error: error as never })
    return this.#end(questions.length > 0 ? { status: 'waiting', questions } : { status: 'interrupted' })
  }

  #addEvent(event: Event): RunMessage[] {
    if (isPatternEvent(event)) return [{ kind: 'event', event, agent: this.#agentOf(event) }]
    const agent = this.#agentOf(event)
    switch (event.type) {
      case 'run:start':
        this.#pattern = event.data.pattern
        return [{ kind: 'start', run_id: this.#run_id }]
      case 'run:reopen':
        this.#hasEnded = false
        return []
      case 'run:end':
        return this.#endRun(event)
      case 'session:open':
        return this.#openAgent(event)
      case 'session:end':
        return agent ? this.#endAgent(agent, event) : []
      case 'gate:open':
        return this.#addQuestion(event)
      case 'gate:answer': {
        const { gate_id, answer, by } = event.data
        this.#questions.delete(gate_id)
        return [{ kind: 'answer', gate_id, answer, by }]
      }
      case 'artifact:write':
        return [{ kind: 'artifact', name: event.data.name, version: event.data.version }]
      default:
        return agent ? this.#addWork(event, agent) : []
    }
  }

  /** What an agent does: its turns and calls. */
  #addWork(event: Event, agent: RunAgent): RunMessage[] {
    switch (event.type) {
      case 'model:begin':
        this.#models.set(event.data.key, event.data.model)
        return event.data.phase || event.data.attempt > 1 ? [] : [{ kind: 'turn_start', agent }]
      case 'model:end': {
        this.#countTokens(event)
        if (event.data.phase) return []
        const { key, attempt, message } = event.data
        return this.#endResponse(agent, key, { attempt, content: message.content })
      }
      case 'model:error':
      case 'model:lost':
        return this.#responses.fail(this.#idOf(event.data.key))
      case 'performer:message':
        return this.#endResponse(agent, event.data.key, { attempt: 1, content: event.data.message.content })
      case 'tool:pre':
        this.#calls.add(event.data.key)
        return [this.#call(event, event.data.input, agent)]
      case 'tool:post':
        return [{ kind: 'result', call: this.#idOf(event.data.key), output: event.data.output, error: null, agent }]
      case 'tool:error': {
        const { key, output = null, detail } = event.data
        // A call that was refused before it began.
        const begin = this.#calls.has(key) ? [] : [this.#call(event, {}, agent)]
        this.#calls.add(key)
        return [...begin, { kind: 'result', call: this.#idOf(key), output, error: detail, agent }]
      }
      default:
        return []
    }
  }

  #endResponse(
    agent: RunAgent,
    key: string,
    { attempt, content }: { attempt: number; content: readonly { type: string; text?: string }[] },
  ): RunMessage[] {
    const text = content.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('')
    if (agent.isMain && text !== '') this.#mainText = text
    return this.#responses.end({ key: this.#idOf(key), attempt, content, agent })
  }

  #openAgent({ session_id = '', data }: EventWith<'session:open'>): RunMessage[] {
    const parent = this.#agents.get(data.parent_session_id ?? '')
    const isMain = this.#main === undefined ? !parent : this.#main.id === session_id
    const agent: RunAgent = {
      id: isMain || data.segment === 1 ? session_id : `${session_id}#${data.segment}`,
      name: data.agent.name,
      description: data.agent.description,
      isMain,
      parent: parent?.isMain ? undefined : parent,
      call: this.#callAround(data.key),
    }
    if (isMain) this.#main = agent
    this.#agents.set(session_id, agent)
    this.#openAgents.add(agent)
    return [{ kind: 'agent_start', agent }]
  }

  #endAgent(agent: RunAgent, { data }: EventWith<'session:end'>): RunMessage[] {
    this.#openAgents.delete(agent)
    return [{ kind: 'agent_end', agent, status: data.status, text: data.text, error: data.error }]
  }

  #addQuestion(event: EventWith<'gate:open'>): RunMessage[] {
    const { key, ...gate } = event.data
    const question = { ...gate, agent: this.#agentOf(event), call: this.#callAround(key) }
    this.#questions.set(gate.gate_id, question)
    return [{ kind: 'question', question }]
  }

  #endRun({ data: { status, output, error, stop_reason } }: EventWith<'run:end'>): RunMessage[] {
    if (status === 'cancelled') return this.#end({ status, reason: error?.message ?? 'cancelled' })
    if (status === 'failed') {
      return this.#end({ status, error: error ?? { code: 'internal', message: `the run failed: ${stop_reason}` } })
    }
    const text = outputText(this.#views, this.#pattern, output)
    const said: RunMessage[] =
      text === '' || text.trim() === this.#mainText.trim() ? [] : [{ kind: 'output', id: this.#idOf('output'), text }]
    return [...said, ...this.#end({ status, output })]
  }

  #end(outcome: RunOutcome): RunMessage[] {
    this.#hasEnded = true
    const [tokens, open] = [[...this.#tokens.values()], [...this.#openAgents]]
    return [...this.#responses.endAll(), { kind: 'end', run_id: this.#run_id, outcome, tokens, open }]
  }

  #call({ data: { key, tool } }: EventWith<'tool:pre' | 'tool:error'>, input: unknown, agent: RunAgent): RunMessage {
    return { kind: 'call', id: this.#idOf(key), tool, input, agent }
  }

  /** Step keys are unique within their run; a front end shows several runs in one conversation. */
  #idOf(key: string): string {
    return `${this.#run_id}/${key}`
  }

  #agentOf({ session_id }: Event): RunAgent | undefined {
    return session_id === undefined ? undefined : this.#agents.get(session_id)
  }

  /** The innermost call that a step key is part of: keys are paths. */
  #callAround(key: string): string | undefined {
    for (let end = key.length; end > 0; end = key.lastIndexOf('/', end - 1)) {
      const path = key.slice(0, end)
      if (this.#calls.has(path)) return this.#idOf(path)
    }
    return undefined
  }

  #countTokens({ data: { key, usage } }: EventWith<'model:end'>): void {
    const model = this.#models.get(key) ?? 'unknown'
    this.#models.delete(key)
    const none = { model, input: 0, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 }
    const sum = this.#tokens.get(model) ?? none
    this.#tokens.set(model, {
      model,
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      reasoning: sum.reasoning + usage.reasoning,
      cache_read: sum.cache_read + usage.cache_read,
      cache_write: sum.cache_write + usage.cache_write,
    })
  }
}
