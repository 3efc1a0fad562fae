import { expect, test } from 'vitest'
import type { ConsultationExchange } from './exchange-loop.ts'
import { judgeExchanges } from './exchange-loop.ts'

const limits = { max_exchanges_per_collaboration: 5 }
const ask = (text: string): ConsultationExchange => ({
  from_agent: 'frontend',
  to_agent: 'backend',
  message_type: 'question',
  text,
})
const askBack = (text: string): ConsultationExchange => ({
  from_agent: 'backend',
  to_agent: 'frontend',
  message_type: 'clarification',
  text,
})
const rounds = (texts: readonly string[]) => texts.flatMap((text) => [ask(`About ${text}`), askBack(text)])
const different = ['Which browser?', 'Which endpoint fails?', 'What is in the log?', 'Since when?', 'For which users?']

test('LP25 a specialist that asks back for the fifth time has reached the iteration limit', () => {
  expect(judgeExchanges('c1', rounds(different.slice(0, 4)), limits)).toMatchObject({ status: 'MAKING_PROGRESS' })
  const judgement = judgeExchanges('c1', rounds(different), limits)
  expect(judgement).toMatchObject({ status: 'ITERATION_LIMIT', action: 'escalate' })
  expect(judgement.findings[0]?.evidence.map(({ question }) => question)).toEqual(different)
})

test('LP25 an asker that asks once more after the fifth reply has reached it, too', () => {
  const more = ask('And on Sundays?')
  expect(judgeExchanges('c1', [...rounds(different.slice(0, 4)), more], limits)).toMatchObject({ action: 'continue' })
  expect(judgeExchanges('c1', [...rounds(different), more], limits)).toMatchObject({
    status: 'ITERATION_LIMIT',
    findings: [{ description: expect.stringContaining('frontend asks once more') }],
  })
})

test('LP25 a specialist that asks back the same after a reply goes to another specialist', () => {
  const exchanges = rounds(['Which endpoint of the API fails?', 'The API: which endpoint fails?'])
  expect(judgeExchanges('c1', exchanges, limits)).toMatchObject({
    status: 'IDENTICAL_LOOP',
    action: 'reroute',
    findings: [{ type: 'identical_questions', evidence: [{ specialist_agent: 'backend' }, {}] }],
  })
})

test('LP25 an answer is never a loop', () => {
  const answer = { ...askBack('It returns 409.'), message_type: 'response' as const }
  expect(judgeExchanges('c1', [...rounds(different), answer], limits)).toMatchObject({ status: 'HEALTHY' })
  expect(judgeExchanges('c1', [], limits)).toMatchObject({ action: 'continue' })
})
