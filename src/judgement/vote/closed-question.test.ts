import { expect, test } from 'vitest'
import { closedQuestionAnswers } from './closed-question.ts'

test.each([
  'Should the release wait?',
  'Is 91 a prime number?',
  'The audit found two bugs. Can we ship on Friday?',
  'Context:\nwe have one server\n\nDo we need a second one?',
  "Isn't the cache too small?",
  'Have the tests passed? ',
])('VO32 %j is answered with yes or no', (task) => {
  expect(closedQuestionAnswers(task)).toEqual(['yes', 'no', 'unclear'])
})

test.each(['Soll das Release warten?', 'Ist 91 eine Primzahl?', 'Der Test ist rot. Können wir trotzdem ausliefern?'])(
  'VO32 %j is answered with ja or nein',
  (task) => {
    expect(closedQuestionAnswers(task)).toEqual(['ja', 'nein', 'unklar'])
  },
)

test.each([
  'What now?',
  'Should we use Redis or Memcached?',
  'Can you list the risks?',
  'Could someone explain the outage?',
  'Can we decide which database to use?',
  'Should we ship? Explain why.',
  'Should we ship? And when?',
  'Is it safe',
  'Review this pull request.',
  'Sollen wir Redis oder Memcached nehmen?',
  'Können Sie die Risiken auflisten?',
  'Ist klar, wie wir das lösen?',
  'Which one should we take?',
  'Issue 12: should we fix it',
  '?',
  '',
])('VO32 %j is left as it is', (task) => {
  expect(closedQuestionAnswers(task)).toBeUndefined()
})
