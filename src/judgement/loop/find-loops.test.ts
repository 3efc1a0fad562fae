import { describe, expect, test } from 'vitest'
import { findLoops } from './find-loops.ts'
import type { TraceMessage } from './trace.ts'

function say(agent: string, text: string, to?: string): TraceMessage {
  return { agent, kind: 'message', text, ...(to !== undefined && { to }) }
}

function call(input: string, result: string): TraceMessage[] {
  return [
    { agent: 'coder', to: 'Bash', kind: 'call', text: `Bash ${input}` },
    { agent: 'Bash', kind: 'result', text: result },
  ]
}

const QUESTION: TraceMessage = { agent: 'human', kind: 'person', text: 'When does the library open?' }
const STEP = 'I opened the home page of the library and scrolled down to the end of it'

function kinds(messages: readonly TraceMessage[]): string[] {
  return findLoops(messages).map(({ kind, at }) => `${kind} at ${at}`)
}

describe('LP8 traces', () => {
  const rounds = (count: number) =>
    Array.from({ length: count }, () => [say('lead', 'Find the opening hours of the library', 'web'), say('web', STEP)])

  test('LP8 an orchestrator that asks the same again is found, with the instructions it repeats', () => {
    const [finding] = findLoops([QUESTION, ...rounds(5).flat()]).filter(({ kind }) => kind === 'repeated_work')
    expect(finding).toMatchObject({ at: 5, agent: 'lead' })
    const last = findLoops([QUESTION, ...rounds(5).flat()]).findLast(({ kind }) => kind === 'repeated_work')
    expect(last).toMatchObject({
      at: 9,
      evidence: [1, 3, 5, 7],
      message: expect.stringContaining('resembles 4 earlier'),
    })
  })

  test('LP8 without addressees the agent that others follow gives the instructions', () => {
    const unaddressed = rounds(5)
      .flat()
      .map(({ agent, text }) => say(agent, text))
    expect(
      findLoops([QUESTION, ...unaddressed]).some(({ kind, agent }) => kind === 'repeated_work' && agent === 'lead'),
    ).toBe(true)
  })
})

describe('LP10 repeated steps', () => {
  test('LP10 a speaker that says the same again repeats a step; another speaker does not', () => {
    expect(kinds([QUESTION, say('web', STEP), say('files', STEP), say('web', `${STEP} again`)])).toEqual([
      'repeated_step at 3',
    ])
  })

  test('LP10 short messages and steps after a message of a person are not repeated steps', () => {
    expect(kinds([say('web', 'Done, next.'), say('lead', 'Go on please.'), say('web', 'Done, next.')])).toEqual([])
    expect(kinds([say('web', STEP), QUESTION, say('web', STEP)])).toEqual([])
  })
})

describe('LP11 repeated calls', () => {
  test('LP11 the same calls with the same results are found from the third on', () => {
    const calls = Array.from({ length: 5 }, () => call('npm test', '3 failed')).flat()
    expect(kinds([QUESTION, ...calls])).toEqual(['repeated_call at 8', 'repeated_call at 10'])
  })

  test('LP11 tests that are run again between edits are not a loop', () => {
    const healthy = Array.from({ length: 8 }, (_, index) => [
      ...call(`edit src/part-${index}.ts`, 'ok'),
      ...call('npm test', index === 7 ? 'all passed' : '3 failed'),
    ]).flat()
    expect(kinds([QUESTION, ...healthy])).toEqual([])
  })
})
