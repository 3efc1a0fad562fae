import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Message } from '../../kernel/model.ts'
import { refuseRepeatedDelegation } from './repeated-delegation.ts'

const INSTRUCTION = 'Find the opening hours of the library'
const NOTHING = 'The web site does not say when the library opens.'

interface Past {
  instruction?: string
  response?: string
  tool?: string
  is_error?: boolean
}

function conversation(...past: Past[]): Message[] {
  return past.flatMap(({ instruction = INSTRUCTION, response = NOTHING, tool = 'task', is_error = false }, index) => {
    const id = `c${index}`
    const text = is_error ? response : JSON.stringify({ response, session_id: `s${index}`, turn_count: index })
    return [
      {
        role: 'assistant' as const,
        content: [{ type: 'tool-call' as const, id, name: tool, input: { agent: 'web', instruction } }],
      },
      { role: 'tool' as const, content: [{ type: 'tool-result' as const, id, name: tool, text, is_error }] },
    ]
  })
}
const refusal = (messages: Message[], instruction = INSTRUCTION, to = 'web') => {
  try {
    refuseRepeatedDelegation(messages, { agent: to, instruction }, ['task'])
    return undefined
  } catch (thrown) {
    return (thrown as Error).message
  }
}

test('TK52 the third delegation of the same work with the same result is refused, with the result', () => {
  expect(refusal(conversation({}))).toBeUndefined()
  expect(refusal(conversation({}, {}))).toContain(NOTHING)
  expect(refusal(conversation({}, {}), `Please find the opening hours of the library again.`)).toContain('2 times')
})

test.each<[string, Message[], string?, string?]>([
  [
    'other files',
    conversation(
      { instruction: 'Summarise the file src/a.ts please' },
      { instruction: 'Summarise the file src/b.ts please' },
    ),
    'Summarise the file src/c.ts please',
  ],
  ['another subject', conversation({}, {}), 'Find the opening hours of the museum'],
  ['another agent', conversation({}, {}), INSTRUCTION, 'files'],
  ['new results', conversation({}, { response: 'It opens at nine on every weekday.' })],
  [
    'another number',
    conversation({ response: 'Row 10 of the list is imported.' }, { response: 'Row 20 of the list is imported.' }),
  ],
  ['an outage', conversation({}, { response: 'Error 503: the service is unavailable.' })],
  ['errors', conversation({ is_error: true }, { is_error: true }, { is_error: true })],
  ['polling', conversation({ response: 'The build is still running.' }, { response: 'The build is still running.' })],
  ['an edit in between', conversation({}, {}, { tool: 'Edit' })],
  [
    'a message of a person',
    [...conversation({}, {}), { role: 'user', content: [{ type: 'text', text: 'Try again.' }] }],
  ],
  ['a few words', conversation({ instruction: 'go on' }, { instruction: 'go on' }), 'go on'],
])('TK52 %s are no repetition', (_, messages, instruction, to) => {
  expect(refusal(messages, instruction, to)).toBeUndefined()
})

test('TK52 in a run, the agent is told what it had and can go on', async () => {
  const model = functionModel((request) => {
    if (request.session.agent === 'web') return { text: NOTHING }
    return request.session.turn <= 3
      ? { calls: [{ name: 'task', input: { agent: 'web', instruction: INSTRUCTION } }] }
      : { text: lastMessageText(request) }
  })
  const { task } = await createTestTroupe({
    model,
    agents: [agent('lead', { tools: ['task'] }), agent('web')],
    embedder: false,
  })
  const { output } = await task('lead', 'When does the library open?')
  expect(model.requests.filter(({ session }) => session.agent === 'web')).toHaveLength(2)
  expect((output as { response: string }).response).toContain(NOTHING)
})
