import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Message } from '../../kernel/model.ts'
import { adviceOnRepetition, findEarlierDelegations, refuseRepeatedDelegation } from './repeated-delegation.ts'

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
/** The same with all calls in one turn. */
function parallel(...past: Past[]): Message[] {
  const messages = conversation(...past)
  const content = (role: Message['role']) =>
    messages.filter((each) => each.role === role).flatMap((each) => [...each.content] as unknown[])
  return [
    { role: 'assistant', content: content('assistant') },
    { role: 'tool', content: content('tool') },
  ] as Message[]
}

/** Other ids, to follow other messages. */
function renumbered(messages: Message[]): Message[] {
  return JSON.parse(JSON.stringify(messages).replaceAll('"id":"c', '"id":"d')) as Message[]
}

const earlier = (messages: Message[], instruction = INSTRUCTION, to = 'web', more = {}) =>
  findEarlierDelegations(messages, { agent: to, instruction, ...more }, ['task'])
const refusal = (...given: Parameters<typeof earlier>) => {
  try {
    refuseRepeatedDelegation(earlier(...given), 'web')
    return undefined
  } catch (thrown) {
    return (thrown as Error).message
  }
}

test('TK52 the second delegation with the same result gets advice', () => {
  expect(adviceOnRepetition(earlier([]), INSTRUCTION, NOTHING)).toBeUndefined()
  expect(adviceOnRepetition(earlier(conversation({})), INSTRUCTION, NOTHING)).toContain('Do not delegate the same')
  expect(adviceOnRepetition(earlier(conversation({})), INSTRUCTION, 'It opens at nine.')).toBeUndefined()
})

test('TK52 the third delegation of the same work with the same result is refused, with the result', () => {
  expect(refusal(conversation({}))).toBeUndefined()
  expect(refusal(conversation({}, {}))).toContain(NOTHING)
  expect(refusal(conversation({}, {}), `Please find the opening hours of the library again.`)).toContain('2 times')
})

test.each<[string, Message[], string?, string?, object?]>([
  ['calls of one turn', parallel({}, {}, {})],
  ['a retry of one of two parallel calls', [...conversation({}), ...renumbered(parallel({}, { is_error: true }))]],
  ['another model', conversation({}, {}), INSTRUCTION, 'web', { model: 'smart' }],
  ['more context', conversation({}, {}), INSTRUCTION, 'web', { context_depth: 'all' }],
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
])('TK52 %s are no repetition', (_, messages, ...given) => {
  expect(refusal(messages, ...given)).toBeUndefined()
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
  const results = model.requests.filter(({ session }) => session.agent === 'lead').map(lastMessageText)
  expect(results.map((text) => text.includes('"note":"You had this result before'))).toEqual([
    false,
    false,
    true,
    false,
  ])
  expect((output as { response: string }).response).toContain(NOTHING)
})
