import { expect, test } from 'vitest'
import { answerJson, asker, consultCall, createConsultTroupe } from '../../../../test/support/consultation.ts'

test('CS218 the panel lists consultations with their context; the report by pair has the heat map of the project', async () => {
  const { task, troupe } = await createConsultTroupe({
    asking: asker(
      () => [consultCall('What fields has the User model?', { urgency: 'high' })],
      () => [consultCall('And the Order model?')],
    ),
    answering: answerJson('id and name'),
  })
  const { run_id } = await task('asking', 'go')
  const { panels } = await troupe.panels(run_id)
  const panel = panels.find(({ id }) => id === 'consultations')
  expect(panel?.badge).toBe('2')
  const [table, matrix, ...rest] = panel?.blocks ?? []
  expect(table).toMatchObject({
    kind: 'table',
    rows: [
      { asker: 'asking', specialist: 'answering', state: 'completed', urgency: 'high', exchanges: 1 },
      { asker: 'asking', specialist: 'answering', status: 'resolved' },
    ],
  })
  expect(matrix).toMatchObject({ kind: 'matrix', rows: ['asking'], columns: ['answering'], values: [[2]] })
  expect(rest).toContainEqual({ kind: 'text', title: 'Answer', text: 'id and name', claimed_by: 'answering' })
  expect(rest.some((block) => block.title?.startsWith('Context for answering: '))).toBe(true)
  const [report] = await troupe.reports({ pattern: 'consult', by: 'pair' })
  expect(report?.blocks).toEqual([expect.objectContaining({ kind: 'matrix', values: [[2]] })])
  await troupe.close()
})
