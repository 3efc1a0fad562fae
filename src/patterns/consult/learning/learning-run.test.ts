import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { answerJson, asker, consultCall } from '../../../../test/support/consult-replies.ts'
import { consultResult, createConsultTroupe } from '../../../../test/support/consultation.ts'
import { lastMessageText } from '../../../../test/support/test-troupe.ts'

const QUESTION = 'Should the pagination of search results start with zero?'

test('CS180 CS181 an answer of an earlier run is stored with its rating and lessons, and the same question is asked again', async () => {
  const rate = asker(
    () => [consultCall(QUESTION)],
    (request) => {
      const { collaboration_id } = consultResult(request)
      return [{ name: 'rate_consultation', input: { collaboration_id, rating: 5, lessons_learned: 'Ask product.' } }]
    },
  )
  const { troupe, task } = await createConsultTroupe({ asking: rate, answering: answerJson('Start with one.') })
  await task('asking', 'Build the list.')
  const [document] = await troupe.knowledge.list('agent_collaboration')
  expect(document).toMatchObject({
    outcome: { success: true, rating: 5 },
    data: { question_summary: QUESTION, resolution_summary: 'Start with one.', lessons_learned: 'Ask product.' },
  })
  const { output } = await troupe.run('consult', {
    question: 'should the pagination of search results start with zero',
  })
  expect(output).toMatchObject({ source: 'specialist', response: { answer: 'Start with one.' } })
})

test('CS182 the specialist of a later run gets the resolved consultation with its rating and lessons', async () => {
  const { troupe, model } = await createConsultTroupe({ answering: answerJson('Start with one.') })
  const first = await troupe.run('consult', { question: QUESTION })
  const { collaboration_id } = first.output ?? { collaboration_id: '' }
  await troupe.run('rate_consultation', { collaboration_id, rating: 5, lessons_learned: 'Ask product.' })
  await troupe.run('consult', { question: 'Should the pagination of search results end with an empty page?' })
  const prompts = model.requests.filter(({ session }) => session.agent === 'answering').map(lastMessageText)
  expect(prompts[0]).not.toContain('Similar questions of the past')
  const past = `Question: ${QUESTION}\nAnswer: Start with one.\nLessons: Ask product.\nRated 5 of 5`
  expect(prompts[1]).toContain(`## Similar questions of the past\n${past}`)
})

test('CS187 a consultation that nobody rated comes after a rated one and is marked', async () => {
  const other = 'With zero: offsets are computed from it, and the storage expects offsets in every query.'
  const answers = ['Start with one.', other, 'No.']
  const { troupe, model } = await createConsultTroupe({ answering: () => answerJson(answers.shift() ?? '') })
  const first = await troupe.run('consult', { question: QUESTION })
  const second = await troupe.run('consult', { question: QUESTION })
  expect(second.output).toMatchObject({ source: 'specialist', response: { answer: other } })
  const { collaboration_id } = first.output ?? { collaboration_id: '' }
  await troupe.run('rate_consultation', { collaboration_id, rating: 3 })
  await troupe.run('consult', { question: 'Should the pagination of search results start with an empty page?' })
  const prompt = model.requests.flatMap((request) =>
    request.session.agent === 'answering' ? lastMessageText(request) : [],
  )
  const rated = `Question: ${QUESTION}\nAnswer: Start with one.\nRated 3 of 5`
  const unrated = `Question: ${QUESTION}\nAnswer: ${other}\nNot rated: nobody said whether it helped.`
  expect(prompt.at(-1)).toContain(`${rated}\n\n${unrated}`)
})

test('CP1 an indexed document about the question goes with it to the specialist', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-documents ü-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'pages.md'), '# Pagination\n\nThe pagination of search results starts with page one.\n')
  const { troupe, model } = await createConsultTroupe({ answering: answerJson('Start with one.') })
  await troupe.knowledge.addFiles([join(folder, 'pages.md')], { root: folder })
  await troupe.run('consult', { question: QUESTION })
  const request = model.requests.find(({ session }) => session.agent === 'answering')
  expect(request && lastMessageText(request)).toMatch(/pages\.md[\s\S]*starts with page one/)
})
